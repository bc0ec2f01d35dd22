// aft_mix over several blocks of queries, and its twin, against sums written out: block borders,
// keys that jump in the middle of a block, padding at its start, both directions. And what a query
// does not see, or another batch member holds, changes no bit.

#include "ops/aft.h"

#include "tests/support/aft_forms.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/fresh_memory.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

namespace shiftgrad::test::aft_forms {

TEST_CASE("aft_mix: one block, several, and their borders") {
  for (int64_t T : {1, 31, 32, 33, 65, 130})
    for (int64_t M : {0, 1, 40})
      for (const Form& form : every_form(M, T)) {
        RandomValues random(161);
        check(Inputs(form, 2, M, T, 3, random), easy);
      }
}

TEST_CASE("aft_mix: more channels than a product takes") {
  for (const Form& form : every_form(3, 40)) {
    RandomValues random(162);
    check(Inputs(form, 1, 3, 40, form.groups == 1 ? 261 : 12, random), easy);
  }
}

TEST_CASE("aft_mix: keys that jump in the middle of a block") {
  for (const Form& form : every_form(5, 100)) {
    RandomValues random(163);
    Inputs up(form, 2, 5, 100, 3, random);
    for (int64_t j = 60; j < 105; ++j) up.move_key(0, j, 100);
    check(up, hard);
    Inputs peak(form, 2, 5, 100, 3, random);
    peak.move_key(0, 45, 100);
    peak.move_key(1, 70, -100);
    check(peak, hard);
    Inputs climbing(form, 1, 5, 100, 3, random);
    for (int64_t j = 0; j < 105; ++j) climbing.move_key(0, j, static_cast<double>(j) * 1.2 - 60);
    check(climbing, hard);
    Inputs falling(form, 1, 5, 100, 3, random);
    for (int64_t j = 0; j < 105; ++j) falling.move_key(0, j, 60 - static_cast<double>(j) * 1.2);
    check(falling, hard);
    Inputs wild(form, 2, 5, 100, 3, random);
    for (int64_t j = 0; j < 105; ++j) wild.move_key(j % 2, j, j * 37 % 120 - 60);
    check(wild, hard);
  }
}

TEST_CASE("aft_mix: biases of ±60, and a band that all but hides the greatest key") {
  for (const Form& form : every_form(5, 100)) {
    RandomValues random(164);
    Inputs in(form, 2, 5, 100, 3, random);
    in.move_biases(60);
    check(in, hard);
    Inputs hiding(form, 2, 5, 100, 3, random);
    for (int64_t n = 0; n < hiding.bias.count(); ++n) hiding.bias.mutable_data()[n] -= 90;
    hiding.move_key(0, 50, 95);
    check(hiding, hard);
  }
}

TEST_CASE("aft_mix: keys that rise and fall by hundreds, and a key of 1e30") {
  for (const Form& form : every_form(5, 100)) {
    RandomValues random(171);
    Inputs steps(form, 2, 5, 100, 72, random);
    steps.move_keys_by_hundreds();
    check(steps, Expected(steps), false, hard);
    Inputs peak(form, 2, 5, 100, 3, random);
    peak.set(0, 50, 1e30f, 2);
    peak.set(1, 0, -1e30f, 2);
    check(peak, hard);
  }
}

TEST_CASE("aft_mix: biases beyond those that the kernel takes") {
  for (const Form& form : every_form(5, 40)) {
    RandomValues random(172);
    Inputs in(form, 2, 5, 40, 3, random);
    in.move_biases(250);
    check(in, hard);
  }
}

TEST_CASE("aft_mix: on every instruction set") {
  on_every_instruction_set([] {
    for (const Form& form : every_form(3, 40)) {
      RandomValues random(173);
      check(Inputs(form, 2, 3, 40, 72, random), easy);
    }
  });
}

TEST_CASE("aft_mix: padding at the start of the sequence, of a block, all over") {
  const std::vector<std::function<bool(int64_t, int64_t)>> paddings = {
      [](int64_t, int64_t j) { return j < 40; },
      [](int64_t b, int64_t j) { return b == 0 ? j < 37 : j >= 37 && j < 80; },
      [](int64_t b, int64_t j) { return b == 1 || j == 37 || j % 5 == 2; },
  };
  for (const Form& form : every_form(5, 100))
    for (const auto& padded : paddings) {
      RandomValues random(165);
      Inputs in(form, 2, 5, 100, 3, random);
      in.pad(padded);
      check(in, easy);
      Pass before(in);
      for (Scalar extreme : {Scalar{1e4}, Scalar{1e30}, infinity, not_a_number}) {
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t j = 0; j < in.K(); ++j)
            if (padded(b, j)) in.set(b, j, extreme, extreme);
        CHECK(same_bits(Pass(in), before));
      }
    }
}

TEST_CASE("aft_mix: the future changes no bit, wherever in a block it begins") {
  check_future(3, 100, {1, 31, 32, 40, 64, 99}, 166);
}

TEST_CASE("aft_mix: a loss that comes early changes no bit through a jump that comes late") {
  RandomValues random(167);
  for (const Form& form : every_form(0, 100)) {
    if (!form.causal) continue;
    CAPTURE(form.name);
    Inputs in(form, 1, 0, 100, 3, random);
    silence(in, 50);
    Pass before(in);
    for (int64_t j = 50; j < 100; ++j) in.move_key(0, j, 100);
    CHECK(same_past(Pass(in), before, 50, 50));
  }
}

TEST_CASE("aft_mix: a NaN in one batch member changes no bit of the others") {
  check_members(9, 4, 70, 168);
}

TEST_CASE("aft_mix: the same bits on any number of threads") {
  check_threads(5, 3, 169);
}

TEST_CASE("aft_mix: 4096 tokens") {
  RandomValues random(170);
  Inputs in({"local", 32, -31, 1, 1, true}, 1, 0, 4096, 2, random);
  for (int64_t j = 0; j < 4096; ++j) in.move_key(0, j, 60 * std::sin(static_cast<double>(j) / 300));
  check(in, hard);
}

TEST_CASE("aft_mix refuses what it would pass over, by name") {
  Tensor x = Tensor::full({1, 3, 2}, 1), band = Tensor::full({1, 3, 3}, 0);
  for (auto mix :
       {+[](const Tensor&k, const AftBand&b, const Visibility&v) { return aft_mix(k, k, b, v); },
        +[](const Tensor&k, const AftBand&b, const Visibility&v) {
          return composed_aft(k, k, b, v);
        }}) {
    CHECK(refusal([&] {
            mix(x, {band, 0, 0}, {{true, 2}, nullptr, nullptr});
          }) == "aft: a window of 2, expected none; a band says which keys have a bias");
    CHECK(refusal([&] {
            mix(x, {band, 0, -1}, {{true}, nullptr, nullptr});
          }) == "aft: a band that moves by -1 a query, expected at least 0");
  }
}

TEST_CASE("aft_mix: a single bias beyond what the kernel takes, wherever it is") {
  for (const Form& form : every_form(2, 5))
    for (int64_t at = 0; at < form.groups * 5 * form.n; ++at)
      for (Scalar bias : {900, -900}) {
        RandomValues random(174);
        Inputs in(form, 1, 2, 5, 3, random);
        in.bias.mutable_data()[at] = bias;
        for (int64_t j = 3; j < 7; ++j) in.move_key(0, j, 150);
        check(in, hard);
      }
}

TEST_CASE("aft_mix: adds to gradients that are there, and keys may be values, too") {
  for (const Form& form : every_form(2, 20)) {
    RandomValues random(175);
    Inputs in(form, 2, 2, 20, 3, random);
    Pass apart(in);
    Tensor key = in.key.detach().require_gradient(), bias = in.bias.detach().require_gradient();
    AftBand band{bias, form.start, form.step};
    for (int pass = 0; pass < 2; ++pass) {
      Tape tape;
      tape.backward(aft_mix(key, in.value, band, {{form.causal}}), in.dy);
    }
    auto doubled = [](Tensor x) {
      for (int64_t n = 0; n < x.count(); ++n) x.mutable_data()[n] *= 2;
      return Values(x);
    };
    CHECK(is_close(key.gradient(), doubled(apart.dkey), easy));
    if (form.n > 0) CHECK(is_close(bias.gradient(), doubled(apart.dbias), easy));
    // One tensor as key and value gets both gradients.
    Tensor both = in.key.detach().require_gradient();
    in.value = in.key;
    Pass of_each(in);
    Tape tape;
    tape.backward(aft_mix(both, both, band, {{form.causal}}), in.dy);
    Values sum(of_each.dkey);
    for (size_t n = 0; n < sum.values.size(); ++n)
      sum.values[n] += static_cast<double>(of_each.dvalue.values()[n]);
    CHECK(is_close(both.gradient(), sum, easy));
  }
}

TEST_CASE("aft_mix: no query behind a memory gives keys and values a gradient of 0") {
  for (const Form& form : every_form(9, 0)) {
    RandomValues random(176);
    Inputs in(form, 2, 9, 0, 3, random);
    NanInFreshMemory nan_in_fresh_memory;
    for (bool composed : {false, true}) {
      Pass pass(in, composed);
      CHECK(same_bits(pass.dkey, Tensor::zeros({2, 9, 3})));
      CHECK(same_bits(pass.dvalue, Tensor::zeros({2, 9, 3})));
    }
  }
}

TEST_CASE("aft_mix: a key of -inf has no weight, and its value changes no bit") {
  for (const Form& form : every_form(3, 40)) {
    CAPTURE(form.name);
    RandomValues random(177);
    Inputs in(form, 2, 3, 40, 3, random);
    auto hide = [&](Scalar value) {
      for (int64_t j : {1, 17, 30}) in.set(j % 2, j, -infinity, value);
    };
    hide(1);
    Pass before(in);
    for (Scalar value : {infinity, not_a_number}) {
      hide(value);
      Pass after(in);
      CHECK(same_bits(after.y, before.y));
      CHECK(same_bits(after.dkey, before.dkey));
      CHECK(same_bits(after.dvalue, before.dvalue));
      CHECK(same_bits(after.dbias, before.dbias));
      if (form.causal) CHECK(is_close(stepped(in, 3), Values(before.y), easy));
    }
  }
}

}  // namespace shiftgrad::test::aft_forms
