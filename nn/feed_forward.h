#pragma once

#include "core/named.h"
#include "nn/layer.h"
#include "nn/linear.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

enum class Activation { relu, gelu, gelu_tanh };
constexpr auto names(Activation) { return std::array{"relu", "gelu", "gelu_tanh"}; }

/// Feed-forward net FFN(x) = W_down f(W_up x + b_up) + b_down (Vaswani et al. 2017, section 3.3). f
/// is the activation. Dropout follows f. Each token is on its own, so no past changes the output.
struct FeedForward : Layer {
  Linear up;    // [d_inner, d_model]
  Linear down;  // [d_model, d_inner]
  Activation activation = Activation::relu;
  double dropout = 0;

  FeedForward() = default;
  FeedForward(int64_t d_model, int64_t d_inner, Activation activation, double dropout,
              Initial values);
  Tensor forward(const Tensor& x, const Past& past, Context& context) const override;
  std::unique_ptr<State> start(int64_t limit = unlimited) const override;
  std::vector<Tensor> residual_projections() const override { return {down.weight}; }
  void visit(Visitor& visitor) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
