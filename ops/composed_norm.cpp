#include "core/errors.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/reduce.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor composed_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                           double epsilon) {
  Tensor centred = x - mean(x, {-1}, true);             // [..., C]
  Tensor variance = mean(square(centred), {-1}, true);  // [..., 1]
  return weight * centred / sqrt(variance + static_cast<Scalar>(epsilon)) + bias;
}

Tensor composed_deviation_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                               double epsilon, bool unbiased) {
  Tensor centred = x - mean(x, {-1}, true);  // [..., C]
  auto count = static_cast<Scalar>(x.size(-1) - (unbiased ? 1 : 0));
  Tensor deviation = sqrt(sum(square(centred), {-1}, true) / count);  // [..., 1]
  return weight * centred / (deviation + static_cast<Scalar>(epsilon)) + bias;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  require_defined("rms_norm", "x", x);
  require(x.rank() >= 1 && x.size(-1) >= 1, "rms_norm: ", x.shape(), ", expected […, C]");
  require(!weight.defined() || weight.shape() == Dims{x.size(-1)}, "rms_norm: ", x.shape(),
          ": weight ", weight.shape(), ", expected [", x.size(-1), "]");
  Tensor y = x / sqrt(mean(square(x), {-1}, true) + static_cast<Scalar>(epsilon));
  return weight.defined() ? weight * y : y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
