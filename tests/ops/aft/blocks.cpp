// aft_mix over several blocks of queries, and its twin, against sums written out: block borders,
// keys that jump in the middle of a block, padding at its start, both directions. And what a query
// does not see, or another batch member holds, changes no bit. aft_step against the same sums.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/aft.h"
#include "ops/concat.h"
#include "ops/shape.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/exact.h"
#include "tests/support/fresh_memory.h"
#include "tests/support/mismatch.h"
#include "tests/support/random_values.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"
#include "tests/support/values.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// A band by the name of the layer's form that has it.
struct Form {
  std::string name;
  int64_t n, start, step, groups;
  bool causal;
};

std::vector<Form> every_form(int64_t M, int64_t T) {
  int64_t K = M + T;
  return {
      {"full", K, 0, 0, 1, true},
      {"full, two-way", K, 0, 0, 1, false},
      {"local", 5, M - 4, 1, 1, true},
      {"local, as wide as a block", 32, M - 31, 1, 1, true},
      {"local, wide", 70, M - 69, 1, 1, true},
      {"local, two-way", 9, M - 4, 1, 1, false},
      {"conv", 3, M - 2, 1, 3, true},
      {"conv, two-way", 3, M - 1, 1, 3, false},
      {"simple", 0, M + 1, 1, 1, true},
      {"simple, two-way", 0, K, 0, 1, false},
  };
}

struct Inputs {
  Form form;
  int64_t T;
  Tensor key, value, bias, dy;
  std::shared_ptr<Mask> padding;

  Inputs(const Form& of, int64_t B, int64_t M, int64_t queries, int64_t C, RandomValues& random)
      : form(of),
        T(queries),
        key(random.tensor({B, M + T, C})),
        value(random.tensor({B, M + T, C})),
        bias(random.tensor({form.groups, T, form.n})),
        dy(random.tensor({B, T, C})) {}

  int64_t B() const { return key.size(0); }
  int64_t K() const { return key.size(1); }
  int64_t C() const { return key.size(2); }
  /// Every channel of a token.
  Scalar* token(const Tensor& x, int64_t b, int64_t t) const {
    return x.mutable_data() + (b * x.size(1) + t) * C();
  }
  void move_key(int64_t b, int64_t j, double by) const {
    for (int64_t c = 0; c < C(); ++c) token(key, b, j)[c] += static_cast<Scalar>(by);
  }
  /// The keys of member 0 rise by 300 again and again, those of member 1 rise and fall.
  void move_keys_by_hundreds() const {
    for (int64_t j = 0; j < key.size(1); ++j) {
      move_key(0, j, static_cast<double>(j / 35 * 300));
      move_key(1, j, static_cast<double>(j * 53 % 7 * 150 - 600));
    }
  }
  void set(int64_t b, int64_t j, Scalar k, Scalar v) const {
    std::fill_n(token(key, b, j), C(), k);
    std::fill_n(token(value, b, j), C(), v);
  }
  bool sees(int64_t b, int64_t i, int64_t j) const {
    bool padded = padding && padding->values[static_cast<size_t>(b * K() + j)];
    return !padded && (!form.causal || j <= K() - T + i);
  }
  void pad(const std::function<bool(int64_t, int64_t)>& padded) {
    padding = std::make_shared<Mask>(Mask{{B(), K()}, {}});
    for (int64_t n = 0; n < B() * K(); ++n) padding->values.push_back(padded(n / K(), n % K()));
  }
};

struct Pass {
  Tensor y, dkey, dvalue, dbias;

  explicit Pass(const Inputs& in, bool composed = false) {
    auto leaf = [](const Tensor& x) { return x.detach().require_gradient(); };
    Tensor key = leaf(in.key), value = leaf(in.value), bias = leaf(in.bias);
    Tape tape;
    AftBand band{bias, in.form.start, in.form.step};
    Visibility visible{{in.form.causal}, in.padding, nullptr};
    y = composed ? composed_aft(key, value, band, visible) : aft_mix(key, value, band, visible);
    tape.backward(y, in.dy);
    dkey = key.gradient().detach();
    dvalue = value.gradient().detach();
    dbias = in.form.n > 0 ? bias.gradient().detach() : Tensor::zeros({1});
  }
};

/// The equations of ops/aft.h and their derivatives.
struct Expected {
  Values y, dkey, dvalue, dbias;
  /// As dbias, of the sizes of what is subtracted there: all of it where a query sees one key only.
  Values bias_terms;

  explicit Expected(const Inputs& in)
      : y({in.B(), in.T, in.C()}),
        dkey(in.key.shape()),
        dvalue(in.key.shape()),
        dbias(in.bias.shape()),
        bias_terms(in.bias.shape()) {
    for (int64_t b = 0; b < in.B(); ++b)
      for (int64_t i = 0; i < in.T; ++i)
        for (int64_t c = 0; c < in.C(); ++c) add(in, b, i, c);
  }

 private:
  void add(const Inputs& in, int64_t b, int64_t i, int64_t c) {
    int64_t first = in.form.start + in.form.step * i, group = c / (in.C() / in.form.groups);
    auto in_band = [&](int64_t j) { return j >= first && j < first + in.form.n; };
    auto number = [&](const Tensor& x, int64_t j) {
      return static_cast<Exact>(x.data()[(b * in.K() + j) * in.C() + c]);
    };
    auto exponent = [&](int64_t j) {
      int64_t at = (group * in.T + i) * in.form.n + j - first;
      return number(in.key, j) + (in_band(j) ? static_cast<Exact>(in.bias.data()[at]) : 0);
    };
    Exact greatest = -INFINITY, total = 0, mixed = 0;
    for (int64_t j = 0; j < in.K(); ++j)
      if (in.sees(b, i, j)) greatest = std::max(greatest, exponent(j));
    std::vector<Exact> weights;
    for (int64_t j = 0; j < in.K(); ++j) {
      weights.push_back(in.sees(b, i, j) ? std::exp(exponent(j) - greatest) : 0);
      total += weights.back();
      if (weights.back() > 0) mixed += weights.back() * number(in.value, j);
    }
    if (total == 0) return;
    mixed /= total;
    y(b, i, c) = static_cast<double>(mixed);
    auto dy = static_cast<Exact>(in.dy.data()[(b * in.T + i) * in.C() + c]);
    for (int64_t j = 0; j < in.K(); ++j) {
      if (!in.sees(b, i, j)) continue;
      Exact through = weights[static_cast<size_t>(j)] / total * dy;
      auto through_key = static_cast<double>(through * (number(in.value, j) - mixed));
      dvalue(b, j, c) += static_cast<double>(through);
      dkey(b, j, c) += through_key;
      if (!in_band(j)) continue;
      dbias(group, i, j - first) += through_key;
      bias_terms(group, i, j - first) += static_cast<double>(
          std::abs(through) * (std::abs(number(in.value, j)) + std::abs(mixed)));
    }
  }
};

constexpr bool is_double = sizeof(Scalar) == 8;
/// Of keys up to 100, whose own rounding already moves the weights.
constexpr double hard = is_double ? 1e-9 : 2e-4;
constexpr double easy = is_double ? 1e-12 : 2e-5;

/// Whether all numbers are there and within `allowed` of the greatest one, or of `terms`.
bool is_close(const Tensor& got, const Values& wanted, double allowed, double terms = 1e-3) {
  std::vector<Scalar> values = got.values();
  double scale = std::max(greatest(wanted), terms), error = 0;
  for (size_t n = 0; n < values.size(); ++n) {
    double difference = std::abs(static_cast<double>(values[n]) - wanted.values[n]);
    if (std::isnan(difference)) return false;
    error = std::max(error, difference);
  }
  return error <= allowed * scale;
}

void check(const Inputs& in, const Expected& expected, bool composed, double allowed) {
  CAPTURE(in.form.name);
  CAPTURE(in.T);
  CAPTURE(in.K());
  CAPTURE(composed);
  Pass pass(in, composed);
  CHECK(is_close(pass.y, expected.y, allowed));
  CHECK(is_close(pass.dvalue, expected.dvalue, allowed));
  CHECK(is_close(pass.dkey, expected.dkey, allowed));
  if (in.form.n > 0)
    CHECK(is_close(pass.dbias, expected.dbias, allowed, greatest(expected.bias_terms)));
}

/// The kernel and its twin from plain ops.
void check(const Inputs& in, double allowed) {
  Expected expected(in);
  for (bool composed : {false, true}) check(in, expected, composed, allowed);
}

/// y of aft_step, which gets the queries in pieces of this length, and each key until it moves to
/// the sums.
Tensor stepped(const Inputs& in, int64_t length) {
  AftSums sums = aft_no_sums(in.B(), in.C());
  std::vector<Tensor> pieces;
  int64_t M = in.K() - in.T, moved = 0;
  auto first = [&](int64_t i) { return in.form.start + in.form.step * i; };
  for (int64_t begin = 0; begin < in.T; begin += length) {
    int64_t end = std::min(begin + length, in.T);
    auto left = [&](const Tensor& x) { return slice(x, 1, moved, M + end); };
    AftBand band{slice(in.bias, 1, begin, end), first(begin) - moved, in.form.step};
    pieces.push_back(aft_step(left(in.key), left(in.value), band, sums));
    moved = std::clamp<int64_t>(first(end - 1), moved, M + end);
  }
  return concat(pieces, 1);
}

void check_steps(const Inputs& in, double allowed) {
  if (!in.form.causal) return;
  CAPTURE(in.form.name);
  Tensor y = stepped(in, 1);
  CHECK(is_close(y, Expected(in).y, allowed));
  for (int64_t length : {int64_t{2}, int64_t{7}, in.T}) CHECK(same_bits(stepped(in, length), y));
}

/// Whether the first rows of each batch member hold the same bits.
bool same_past(const Tensor& a, const Tensor& b, int64_t rows) {
  auto first = [&](const Tensor& x) { return slice(x, 1, 0, rows); };
  return same_bits(first(a), first(b));
}

/// The same for the queries, the keys and values, and all biases.
bool same_past(const Pass& a, const Pass& b, int64_t queries, int64_t keys) {
  return same_past(a.y, b.y, queries) && same_past(a.dkey, b.dkey, keys) &&
         same_past(a.dvalue, b.dvalue, keys) && same_bits(a.dbias, b.dbias);
}

/// No loss on the queries from `now` on.
void silence(const Inputs& in, int64_t now) {
  for (int64_t b = 0; b < in.B(); ++b)
    std::fill_n(in.token(in.dy, b, now), (in.T - now) * in.C(), Scalar{0});
}

}  // namespace

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
    for (int64_t n = 0; n < in.bias.count(); ++n)
      in.bias.mutable_data()[n] += static_cast<Scalar>(n % 3 * 60 - 60);
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
    for (int64_t n = 0; n < in.bias.count(); ++n)
      in.bias.mutable_data()[n] += static_cast<Scalar>(n % 3 * 250 - 250);
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
        Pass after(in);
        CHECK(same_bits(after.y, before.y));
        CHECK(same_bits(after.dkey, before.dkey));
        CHECK(same_bits(after.dvalue, before.dvalue));
        CHECK(same_bits(after.dbias, before.dbias));
      }
    }
}

TEST_CASE("aft_mix: the future changes no bit, wherever in a block it begins") {
  constexpr int64_t M = 3, T = 100;
  for (const Form& form : every_form(M, T)) {
    if (!form.causal) continue;
    CAPTURE(form.name);
    for (int64_t now : {1, 31, 32, 40, 64, 99}) {
      CAPTURE(now);
      RandomValues random(166);
      Inputs in(form, 2, M, T, 3, random);
      silence(in, now);
      Pass before(in);
      for (double extreme : {20., 60., 1e4, -1e4, 1e30, -1e30, HUGE_VAL, -HUGE_VAL, double{NAN}}) {
        CAPTURE(extreme);
        for (int64_t j = M + now; j < M + T; ++j)
          for (int64_t b = 0; b < 2; ++b)
            in.set(b, j, static_cast<Scalar>(extreme), static_cast<Scalar>(extreme));
        Pass after(in);
        CHECK(same_past(after.y, before.y, now));
        CHECK(same_past(after, before, now, M + now));
      }
    }
  }
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
  for (const Form& form : every_form(5, 70)) {
    CAPTURE(form.name);
    RandomValues random(168);
    Inputs in(form, 9, 5, 70, 3, random);
    Pass before(in);
    in.set(4, 20, not_a_number, 1);
    Pass after(in);
    auto same = [&](const Tensor& a, const Tensor& b) {
      std::vector<Scalar> x = a.values(), y = b.values();
      auto ill = static_cast<std::ptrdiff_t>(x.size() / 9 * 4);
      auto well = static_cast<std::ptrdiff_t>(x.size() / 9 * 5);
      for (std::vector<Scalar>* all : {&x, &y}) all->erase(all->begin() + ill, all->begin() + well);
      return same_bits(x, y);
    };
    CHECK(same(after.y, before.y));
    CHECK(same(after.dkey, before.dkey));
    CHECK(same(after.dvalue, before.dvalue));
  }
}

TEST_CASE("aft_mix: the same bits on any number of threads") {
  for (const Form& form : every_form(5, 200)) {
    CAPTURE(form.name);
    RandomValues random(169);
    Inputs in(form, 5, 5, 200, 3, random);
    in.move_key(2, 60, 100);
    Pass here(in);
    for (int threads : {1, 2, 3, 4})
      with_threads(threads, [&] {
        Pass there(in);
        CHECK(same_bits(there.y, here.y));
        CHECK(same_bits(there.dkey, here.dkey));
        CHECK(same_bits(there.dvalue, here.dvalue));
        CHECK(same_bits(there.dbias, here.dbias));
      });
  }
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

TEST_CASE("aft_step: the same bits in pieces of any length, on every instruction set") {
  on_every_instruction_set([] {
    for (int64_t M : {0, 40})
      for (const Form& form : every_form(M, 33)) {
        RandomValues random(174);
        check_steps(Inputs(form, 2, M, 33, 72, random), easy);
      }
  });
}

TEST_CASE("aft_step: keys that rise and fall by hundreds, and biases of any size") {
  for (const Form& form : every_form(5, 100)) {
    RandomValues random(175);
    Inputs in(form, 2, 5, 100, 3, random);
    in.move_keys_by_hundreds();
    in.set(0, 50, 1e30f, 2);
    for (int64_t n = 0; n < in.bias.count(); ++n)
      in.bias.mutable_data()[n] += static_cast<Scalar>(n % 3 * 250 - 250);
    check_steps(in, hard);
  }
}

TEST_CASE("aft_step: a key of -inf counts for nothing in later queries") {
  RandomValues random(176);
  Inputs in({"simple", 0, 1, 1, 1, true}, 1, 0, 9, 3, random);
  in.set(0, 0, -1e30f, 2);
  Tensor expected = stepped(in, 1);
  in.set(0, 0, -std::numeric_limits<Scalar>::infinity(), 5);
  CHECK(same_bits(slice(stepped(in, 1), 1, 1, 9), slice(expected, 1, 1, 9)));
}

TEST_CASE("aft_step refuses sums of other sizes") {
  Tensor x = Tensor::full({1, 3, 2}, 1), band = Tensor::full({1, 3, 3}, 0);
  AftSums sums = aft_no_sums(2, 2);
  CHECK(refusal([&] {
          aft_step(x, x, {band, 0, 0}, sums);
        }) == "aft_step: sums [2, 3, 2], expected [1, 3, 2]");
  sums = {{1, 3, 2}, {1}};
  CHECK(refusal([&] {
          aft_step(x, x, {band, 0, 0}, sums);
        }) == "aft_step: sums: 1 values for the shape [1, 3, 2]");
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
