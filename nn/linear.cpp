#include "nn/linear.h"

#include "ops/matmul.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Linear::Linear(int64_t in, int64_t out, bool with_bias, Initial values)
    : weight(normal_parameter({out, in}, values)) {
  if (with_bias) bias = constant_parameter({out}, 0, values);
}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, bias); }

Tensor Linear::part(const Tensor& x, int64_t begin, int64_t end) const {
  return linear(x, slice(weight, 0, begin, end),
                bias.defined() ? slice(bias, 0, begin, end) : bias);
}

void Linear::visit(Visitor& visitor) const {
  visitor("weight", weight, Decay::yes);
  visitor("bias", bias);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
