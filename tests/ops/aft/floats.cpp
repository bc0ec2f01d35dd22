// aft_mix in floats: by products where the band is wide, as they are or rounded to bfloat16, and by
// floats of narrow bands while products round. From the first query on that sees what floats do not
// take, its sums are doubles.

#include <limits>

#include "ops/aft.h"
#include "tests/support/aft_forms.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/in_bfloat16.h"
#include "tests/support/specials.h"

namespace shiftgrad::test::aft_forms {

namespace {

/// A numerator and a denominator each have two factors that are rounded by up to 2^-9.
const double rounded = std::ldexp(1, -7);

/// Whether the form's sums are products, as ops/aft/products.h says.
bool is_wide(const Form& form, int64_t K) { return form.n >= 128 && 4 * form.n >= K; }

void check_floats(const Inputs& in, double in_floats = easy) {
  Expected expected(in);
  check(in, expected, false, in_floats);
  InBfloat16 rounds;
  if (!is_wide(in.form, in.K())) return check(in, expected, false, in_floats);
  CAPTURE(in.form.name);
  CAPTURE(in.T);
  Pass pass(in);
  CHECK(is_close(pass.y, expected.y, rounded));
  CHECK(is_close(pass.dvalue, expected.dvalue, rounded));
  CHECK(is_close(pass.dkey, expected.dkey, rounded, greatest(expected.key_terms)));
  CHECK(is_close(pass.dbias, expected.dbias, rounded, greatest(expected.bias_terms)));
}

}  // namespace

TEST_CASE("aft_mix in floats: within their rounding, or that of products in bfloat16") {
  by_hardware_and_software([] {
    for (int64_t T : {1, 31, 33, 130, 200})
      for (const Form& form : every_form(5, T)) {
        RandomValues random(181);
        check_floats(Inputs(form, 2, 5, T, 3, random));
      }
    for (const Form& form : every_form(0, 140)) {
      RandomValues random(182);
      check_floats(Inputs(form, 1, 0, 140, 72, random));
    }
  });
}

TEST_CASE("aft_mix in bfloat16: wide bands are rounded, and narrow ones are in floats") {
  for (const Form& form : every_form(5, 130)) {
    CAPTURE(form.name);
    RandomValues random(183);
    Inputs in(form, 2, 5, 130, 72, random);
    Pass exact(in);
    InBfloat16 rounds;
    Pass pass(in);
    CHECK_FALSE(same_bits(pass, exact));
    CHECK(is_close(pass.y, Values(exact.y), easy) != is_wide(form, in.K()));
  }
}

TEST_CASE("aft_mix in bfloat16: gradients in floats after a forward pass in bfloat16") {
  for (const Form& form : every_form(5, 160)) {
    if (!is_wide(form, 165)) continue;
    CAPTURE(form.name);
    RandomValues random(186);
    Inputs in(form, 2, 5, 160, 9, random);
    Expected expected(in);
    set_product_precision(Precision::bfloat16);
    Pass pass(in, false, [] { set_product_precision(Precision::float32); });
    CHECK(is_close(pass.dvalue, expected.dvalue, rounded));
    CHECK(is_close(pass.dkey, expected.dkey, rounded, greatest(expected.key_terms)));
    CHECK(is_close(pass.dbias, expected.dbias, rounded, greatest(expected.bias_terms)));
  }
}

TEST_CASE("aft_mix in floats: on every instruction set") {
  on_every_instruction_set([] {
    for (const Form& form : every_form(3, 130)) {
      RandomValues random(184);
      check_floats(Inputs(form, 1, 3, 130, 21, random));
    }
  });
}

TEST_CASE("aft_mix in floats: padding at the start of the sequence, all over, and of a member") {
  for (const Form& form : every_form(5, 130))
    for (int kind : {0, 1, 2}) {
      RandomValues random(185);
      Inputs in(form, 2, 5, 130, 3, random);
      in.pad([&](int64_t b, int64_t j) {
        return kind == 0 ? j < 40 : kind == 1 ? j % 5 == 2 : b == 1;
      });
      check_floats(in);
      in_each_precision([&] {
        auto fill = [&](Scalar key, Scalar value) {
          for (int64_t n = 0; n < 2 * in.K(); ++n)
            if (in.padding->values[static_cast<size_t>(n)])
              in.set(n / in.K(), n % in.K(), key, value);
        };
        fill(1, 2);
        Pass before(in);
        fill(not_a_number, infinity);
        CHECK(same_bits(Pass(in), before));
      });
    }
}

TEST_CASE("aft_mix in floats: keys and values of any range, from any query on") {
  for (const Form& form : every_form(5, 130))
    for (int64_t at : {0, 5, 6, 70, 134})
      for (double by : {-300., -60., 33., 60., 300.}) {
        CAPTURE(at);
        CAPTURE(by);
        RandomValues random(186);
        Inputs in(form, 2, 5, 130, 3, random);
        in.move_key(1, at, by);
        check_floats(in, hard);
      }
  for (const Form& form : every_form(5, 130)) {
    RandomValues random(187);
    Inputs climbing(form, 1, 5, 130, 3, random);
    for (int64_t j = 0; j < 135; ++j) climbing.move_key(0, j, static_cast<double>(j) * 1.2 - 60);
    check_floats(climbing, hard);
    Inputs hundreds(form, 2, 5, 130, 3, random);
    hundreds.move_keys_by_hundreds();
    check_floats(hundreds, hard);
    Inputs large(form, 2, 5, 130, 3, random);
    large.set(1, 60, 1, 1e30f);
    check_floats(large, hard);
    Inputs hidden(form, 2, 5, 130, 3, random);
    hidden.set(1, 60, -infinity, 1);
    hidden.set(0, 0, -infinity, 1);
    check_floats(hidden, hard);
  }
}

TEST_CASE("aft_mix in floats: what floats never take has the bits of doubles") {
  for (const Form& form : every_form(0, 130)) {
    CAPTURE(form.name);
    RandomValues random(188);
    Inputs biases(form, 1, 0, 130, 3, random), values(form, 1, 0, 130, 3, random);
    biases.move_biases(60);
    values.set(0, 0, 1, 1e30f);
    for (const Inputs* in : {&biases, &values}) {
      if (in == &biases && form.n == 0) continue;
      Pass exact(*in);
      CHECK(is_close(exact.y, Expected(*in).y, std::numeric_limits<float>::epsilon()));
      InBfloat16 rounds;
      CHECK(same_bits(Pass(*in), exact));
    }
  }
}

TEST_CASE("aft_mix in floats: the future changes no bit, wherever it begins") {
  in_each_precision([] { check_future(3, 130, {1, 31, 96, 100, 129}, 189); });
}

TEST_CASE("aft_mix in floats: a NaN in one batch member changes no bit of the others") {
  in_each_precision([] { check_members(2, 1, 130, 190); });
}

TEST_CASE("aft_mix in floats: the same bits on any number of threads") {
  in_each_precision([] { check_threads(3, 132, 191); });
}

}  // namespace shiftgrad::test::aft_forms
