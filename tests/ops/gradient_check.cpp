#include "ops/gradient_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/accumulate.h"
#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/mismatch.h"
#include "tests/support/random_values.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr double right = sizeof(Scalar) == 8 ? 1e-9 : 1e-3;

/// sin(x), with a gradient that is off by `error` in one element.
Tensor wrong_sine(const Tensor& x, Scalar error) {
  Tensor y = sin(x.detach());
  record(y, {&x}, [x, error](const Tensor& dy) {
    Tensor dx = dy * cos(x.detach());
    dx.mutable_data()[3] += error;
    accumulate(x.open_gradient(), dx);
  });
  return y;
}

}  // namespace

TEST_CASE("gradient_check passes right gradients, of any shape") {
  RandomValues random(1);
  Tensor x = random.tensor({2, 3, 4}), w = random.tensor({4, 2}), b = random.tensor({});
  CHECK(gradient_check([&] { return tanh(matmul(x, w)) * exp(b); }, {x, w, b}) < right);
  CHECK(gradient_check([&] { return sum(square(transpose(x)) + b); }, {x, b}) < right);
  CHECK(gradient_check([&] { return x * x; }, {x, w}) < right);  // w takes no part
}

TEST_CASE("gradient_check finds one element that is wrong, and a NaN") {
  Tensor x = RandomValues(2).tensor({2, 3});
  for (double error : {0.03, -0.03, 1.0}) {
    double found = gradient_check([&] { return wrong_sine(x, Scalar(error)); }, {x});
    CHECK(found > std::abs(error) / 4);
    CHECK(found <= std::abs(error) + right);
  }
  CHECK(gradient_check([&] { return wrong_sine(x, 0); }, {x}) < right);
  CHECK(std::isnan(gradient_check([&] { return wrong_sine(x, not_a_number); }, {x})));
  CHECK(gradient_check([&] { return x * x.detach(); }, {x}) > 0.01);  // half of the gradient
  // Half a step on, this is infinite.
  Tensor edge = Tensor::full({1}, std::log(std::numeric_limits<Scalar>::max()) * Scalar(0.999999));
  CHECK_FALSE(gradient_check([&] { return exp(edge); }, {edge}) < right);
}

TEST_CASE("gradient_check takes a step that is small beside the curvature") {
  if (sizeof(Scalar) < 8) return;  // floats have too few digits for small steps
  constexpr double size = 1e-3;    // of a row, over which its norm turns
  Tensor x = (RandomValues(4).tensor({3, 4}) * Scalar{size}).detach();
  auto f = [&] { return rms_norm(x); };
  CHECK(gradient_check(f, {x}) > 0.01);  // the gradients are right, the quotients are not
  CHECK(gradient_check(f, {x}, size / 1000) < right);
}

TEST_CASE("gradient_check leaves the values as they were, and the gradients of one pass") {
  Tensor x = RandomValues(3).tensor({5});
  std::vector<Scalar> before = x.values();
  auto f = [&] { return exp(x); };
  gradient_check(f, {x});
  CHECK(same_bits(x.values(), before));
  std::vector<Scalar> gradient = x.gradient().values();
  gradient_check(f, {x});
  CHECK(same_bits(x.gradient().values(), gradient));
  CHECK_FALSE(x.recorded());
}

TEST_CASE("gradient_check says what it cannot check") {
  Tensor x = Tensor::full({2, 3}, 1);
  CHECK(refusal([&] { gradient_check([&] { return x; }, {Tensor()}); }) ==
        "gradient_check: an input is undefined");
  CHECK(refusal([&] { gradient_check([&] { return exp(x); }, {transpose(x)}); }) ==
        "gradient_check: an input [3, 2], expected a dense one");
  for (double step : {0.0, -1.0, std::nan(""), HUGE_VAL})
    CHECK(refusal([&] { gradient_check([&] { return exp(x); }, {x}, step); }) ==
          text("gradient_check: step ", step, ", expected more than 0"));
  Tape tape;
  Tensor y = exp(x.require_gradient());
  CHECK(refusal([&] { gradient_check([&] { return exp(x); }, {x}); }) ==
        "in-place write: a tensor of shape [2, 3] is recorded on a live tape");
}

TEST_CASE("gradient_check: the steps of a quotient are more than 0") {
  for (double step : {0.0, -1.0, std::nan(""), HUGE_VAL})
    CHECK(refusal([&] { difference_quotient([](int n) { return double(n); }, step); }) ==
          text("difference_quotient: step ", step, ", expected more than 0"));
}
