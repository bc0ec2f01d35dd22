#pragma once

// A check of gradients by the definition of a slope, for those who write an op or a layer.

#include <functional>
#include <vector>

#include "core/errors.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The slope at 0 of a function of steps, by four points: the error is of the order of step⁴.
/// Throws unless the step is more than 0.
double difference_quotient(auto at, double step) {
  require(step > 0 && std::isfinite(step), "difference_quotient: step ", step,
          ", expected more than 0");
  return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
}

/// Compares the gradients that a backward pass gives to `inputs` with difference quotients of
/// Σ f() · c, where c is random and the same each time; f computes a tensor of any shape from the
/// inputs, whose elements are moved one by one. Returns the largest |gradient - quotient| /
/// (1 + |quotient|) of all elements, or NaN when one is NaN. Right gradients give some 1e-10 in
/// double and 1e-4 in float, unless a kink of f is closer than two steps (0.002 and 0.1). Throws
/// when an input is undefined, not dense, or recorded. Afterwards the inputs have their values
/// again, and the gradients of Σ f() · c. PyTorch: autograd.gradcheck.
///
///     gradient_check([&] { return leaky_sum(x, keep); }, {x, keep}) < 1e-9
double gradient_check(const std::function<Tensor()>& f, const std::vector<Tensor>& inputs);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
