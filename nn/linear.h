#pragma once

#include "nn/module.h"
#include "nn/parameters.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Linear layer: y = x Wᵀ + b. W starts at N(0, 0.02²), b at 0. PyTorch: nn.Linear.
struct Linear : Module {
  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined

  Linear() = default;
  Linear(int64_t in, int64_t out, bool with_bias, Initial values);
  Tensor operator()(const Tensor& x) const;
  /// Returns elements begin … end-1 of y alone.
  Tensor part(const Tensor& x, int64_t begin, int64_t end) const;
  void visit(Visitor& visitor) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
