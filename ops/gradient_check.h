#pragma once

// A check of gradients by the definition of a slope, for those who write an op or a layer.

#include <cmath>
#include <functional>
#include <optional>
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
/// double and 1e-4 in float, where f is smooth within two steps. Afterwards the inputs have their
/// values again, and the gradients of Σ f() · c. PyTorch: autograd.gradcheck.
///
///     gradient_check([&] { return leaky_sum(x, keep); }, {x, keep}) < 1e-9
///
/// A step is ε^(1/5) unless given, 0.0007 in double and 0.04 in float. It suits inputs of the order
/// of 1. A kink of f within two steps makes right gradients look wrong, and so does curvature: the
/// quotient is off by step⁴/30 times the fifth derivative, which is relatively (step / r)⁴ where f
/// changes over a length r. For `rms_norm`, r is the size of a row. A step of r/1000 is good there;
/// a still smaller one loses to rounding, ε |f| / step.
///
/// Throws when an input is undefined, not dense, or recorded, and unless the step is more than 0.
double gradient_check(const std::function<Tensor()>& f, const std::vector<Tensor>& inputs,
                      std::optional<double> step = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
