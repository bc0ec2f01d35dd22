#pragma once

// The feed-forward net of a block: two linear layers with an activation between them.

#include "core/named.h"
#include "nn/caches.h"
#include "nn/layer.h"
#include "nn/linear.h"
#include "ops/elementwise.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Functions f between the two layers of a feed-forward net.
enum class Activation { relu, gelu, gelu_tanh };
constexpr auto names(Activation) { return std::array{"relu", "gelu", "gelu_tanh"}; }

/// Feed-forward net FFN(x) = W_down f(W_up x + b_up) + b_down (Vaswani et al. 2017, section 3.3). f
/// is the activation. Dropout follows f. Each token is on its own, so no past changes the output.
struct FeedForward : Layer {
  Linear up;    // [d_inner, d_model]
  Linear down;  // [d_model, d_inner]
  /// f.
  Activation activation = Activation::relu;
  double dropout = 0;

  FeedForward() = default;
  /// Takes d_model channels to d_inner and back.
  FeedForward(int64_t d_model, int64_t d_inner, Activation function, double rate, Init init)
      : up(d_model, d_inner, true, init),
        down(d_inner, d_model, true, init),
        activation(function),
        dropout(rate) {
    name = "feed_forward";
  }

  Tensor forward(const Tensor& x, const Past&, Context& context) const override {
    constexpr std::array functions{relu, gelu, gelu_tanh};
    static_assert(functions.size() == names(Activation()).size());
    Tensor hidden = functions[static_cast<size_t>(activation)](up(x));  // [B, T, d_inner]
    return down(context.drop(hidden, dropout));                         // [B, T, C]
  }

  std::unique_ptr<Cache> make_cache(int64_t = unlimited) const override {
    return new_cache<Caches>();
  }
  std::vector<Tensor> residual_projections() const override { return {down.weight}; }

  void visit(Visitor& visitor) const override {
    visitor("up", up);
    visitor("down", down);
  }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
