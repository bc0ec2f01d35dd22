#include "nn/feed_forward.h"

#include "ops/elementwise.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

FeedForward::FeedForward(int64_t d_model, int64_t d_inner, Activation activation, double dropout,
                         Initial values)
    : up(d_model, d_inner, true, values),
      down(d_inner, d_model, true, values),
      activation(activation),
      dropout(dropout) {
  name = "feed_forward";
}

Tensor FeedForward::forward(const Tensor& x, const Past&, Context& context) const {
  constexpr std::array functions{relu, gelu, gelu_tanh};
  Tensor hidden = functions[static_cast<size_t>(activation)](up(x));  // [B, T, d_inner]
  return down(context.drop(hidden, dropout));                         // [B, T, C]
}

std::unique_ptr<State> FeedForward::start(int64_t) const { return new_state<States>(); }

void FeedForward::visit(Visitor& visitor) const {
  visitor("up", up);
  visitor("down", down);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
