#include "shiftgrad/nn/feed_forward.h"

#include "shiftgrad/core/errors.h"
#include "shiftgrad/ops/elementwise.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

Tensor (*activation_named(const std::string& name))(const Tensor&) {
  if (name == "relu") return relu;
  if (name == "gelu") return gelu;
  if (name == "gelu_tanh") return gelu_tanh;
  fail("activation \"", name, "\", expected relu, gelu or gelu_tanh");
}

}  // namespace

FeedForward::FeedForward(int64_t d_model, int64_t d_inner, const std::string& activation,
                         double dropout, Random& random)
    : up(d_model, d_inner, true, random),
      down(d_inner, d_model, true, random),
      activation(activation_named(activation)),
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
