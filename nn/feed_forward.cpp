#include "nn/feed_forward.h"

#include "ops/elementwise.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

Tensor (*function_of(Activation activation))(const Tensor&) {
  if (activation == Activation::relu) return relu;
  return activation == Activation::gelu ? gelu : gelu_tanh;
}

}  // namespace

FeedForward::FeedForward(int64_t d_model, int64_t d_inner, Activation activation, double dropout,
                         Random& random)
    : up(d_model, d_inner, true, random),
      down(d_inner, d_model, true, random),
      activation(function_of(activation)),
      dropout(dropout) {}

Tensor FeedForward::operator()(const Tensor& x, Context& context) const {
  Tensor hidden = activation(up(x));           // [B, T, d_inner]
  return down(context.drop(hidden, dropout));  // [B, T, C]
}

void FeedForward::visit(Visitor& visitor) const {
  visitor("up", up);
  visitor("down", down);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
