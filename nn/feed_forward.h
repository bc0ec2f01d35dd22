#pragma once

#include <string>

#include "shiftgrad/nn/context.h"
#include "shiftgrad/nn/linear.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Feed-forward net FFN(x) = W_down f(W_up x + b_up) + b_down (Vaswani et al. 2017, section 3.3). f
/// is `relu`, `gelu` or `gelu_tanh`; any other name is an error. Dropout follows f.
struct FeedForward : Module {
  Linear up;    // [d_inner, d_model]
  Linear down;  // [d_model, d_inner]
  Tensor (*activation)(const Tensor&) = nullptr;
  double dropout = 0;

  FeedForward() = default;
  FeedForward(int64_t d_model, int64_t d_inner, const std::string& activation, double dropout,
              Random& random);
  /// Returns FFN(x) [B, T, C] for x [B, T, C].
  Tensor operator()(const Tensor& x, Context& context) const;
  void visit(Visitor& visitor) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
