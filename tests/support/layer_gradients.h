#pragma once

// The gradients of a layer against difference quotients of its oracle, in double in both builds.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "ops/gradient_check.h"
#include "tests/support/layer_rows.h"
#include "tests/support/specials.h"

namespace shiftgrad::test {

/// What is promised of gradients, relative to the largest of a tensor's, in this build.
inline constexpr double gradient_exactness = sizeof(Scalar) == 8 ? 1e-7 : 3e-5;
/// What cancelling sums leave: in double of the differences, which divide rounding errors by 1e-4.
inline constexpr double cancellation = sizeof(Scalar) == 8 ? 1e-10 : 3e-6;

/// ∂f/∂x by four points a number, so that the error is of the order of step⁴.
template <class F>
Values differences(Values& x, F f) {
  constexpr double step = 1e-4;
  Values slopes(x.shape);
  for (size_t n = 0; n < x.values.size(); ++n) {
    double middle = x.values[n];
    auto at = [&](double steps) {
      x.values[n] = middle + steps * step;
      return f();
    };
    slopes.values[n] = difference_quotient(at, step);
    x.values[n] = middle;
  }
  return slopes;
}

/// Σ a · b.
inline double inner_product(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t n = 0; n < a.values.size(); ++n) sum += a.values[n] * b.values[n];
  return sum;
}

inline Values gradient_of(const Tensor& x) {
  Tensor gradient = x.gradient();
  return gradient.defined() ? Values(gradient) : Values(x.shape());
}

/// Holds gradients against what they should be: up to a part of the tensor's largest, and to what
/// is left by rounding where sums as large as the largest gradient of all cancel.
class GradientCheck {
 public:
  void expect(const std::string& name, const Values& got, const Values& expected) {
    entries_.push_back({name, got, expected});
    scale_ = std::max(scale_, greatest(expected));
  }

  ~GradientCheck() {
    CHECK(scale_ > 0);
    for (const Entry& entry : entries_) {
      CAPTURE(entry.name);
      double allowed = gradient_exactness * greatest(entry.expected) + cancellation * scale_;
      double error = greatest(entry.got - entry.expected);
      CHECK(entry.got.shape == entry.expected.shape);
      CHECK(error <= allowed);
    }
  }

 private:
  struct Entry {
    std::string name;
    Values got, expected;
  };
  std::vector<Entry> entries_;
  double scale_ = 0;
};

/// Checks the gradients of all parameters and of the input for a random cotangent.
inline void check_gradients(const LayerRow& row, const Layer& layer, Input input,
                            RandomValues& random) {
  for (const Parameter& parameter : parameters(layer)) parameter.value.zero_gradient();
  Tensor x = input.x.tensor().require_gradient(), cotangent = random.tensor(x.shape());
  Context context = masks_of(input);
  Tape tape;
  tape.backward(layer.forward(x, memory_of(input), context), cotangent);

  Weights weights(layer);
  Values c(cotangent);
  auto loss = [&] { return inner_product(row.oracle(weights, input), c); };
  GradientCheck check;
  check.expect("x", gradient_of(x), differences(input.x, loss));
  for (const Parameter& parameter : parameters(layer))
    check.expect(parameter.name, gradient_of(parameter.value),
                 differences(weights.all[parameter.name], loss));
}

}  // namespace shiftgrad::test
