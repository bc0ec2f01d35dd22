#include "nn/linear.h"

#include "ops/matmul.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

Tensor normal_parameter(const Dims& shape, Random& random, double deviation) {
  Tensor parameter = Tensor::empty(shape);
  Scalar* values = parameter.mutable_data();
  for (int64_t n = 0; n < parameter.count(); ++n)
    values[n] = static_cast<Scalar>(deviation * random.normal());
  return parameter.require_gradient();
}

Tensor constant_parameter(const Dims& shape, Scalar value) {
  return Tensor::full(shape, value).require_gradient();
}

Linear::Linear(int64_t in, int64_t out, bool with_bias, Random& random)
    : weight(normal_parameter({out, in}, random)) {
  if (with_bias) bias = constant_parameter({out}, 0);
}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, bias); }

void Linear::visit(Visitor& visitor) const {
  visitor("weight", weight, Decay::yes);
  visitor("bias", bias);
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
