#include "nn/layer_norm.h"

#include "nn/linear.h"
#include "ops/norm.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

LayerNorm::LayerNorm(int64_t width, double epsilon, bool by_deviation)
    : weight(constant_parameter({width}, 1)),
      bias(constant_parameter({width}, 0)),
      epsilon(epsilon),
      by_deviation(by_deviation) {}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return by_deviation ? deviation_norm(x, weight, bias, epsilon)
                      : layer_norm(x, weight, bias, epsilon);
}

void LayerNorm::visit(Visitor& visitor) const {
  visitor("weight", weight);
  visitor("bias", bias);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
