#pragma once

#include "core/random.h"
#include "nn/module.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// The standard deviation from which weights start unless a module says otherwise: GPT-2's and
/// Transformer-XL's 0.02.
inline constexpr double initial_deviation = 0.02;

/// A parameter drawn from the normal distribution N(0, deviation²).
Tensor normal_parameter(const Dims& shape, Random& random, double deviation = initial_deviation);
/// A parameter that starts at one value.
Tensor constant_parameter(const Dims& shape, Scalar value);

/// y = x Wᵀ + b. W starts normal, b at 0. PyTorch: nn.Linear.
struct Linear : Module {
  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined

  Linear() = default;
  Linear(int64_t in, int64_t out, bool with_bias, Random& random);
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor) const override;
};

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
