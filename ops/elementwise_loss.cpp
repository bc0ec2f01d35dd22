#include "ops/elementwise_loss.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns a logarithm that counts as no less than -100.
Scalar bounded(Scalar logarithm) { return std::max(logarithm, Scalar(-100)); }

/// Returns the mean of f(x, target), which has its slopes.
Tensor mean_loss(const char* operation, auto f, const Tensor& x, const Tensor& target) {
  require_defined(operation, "x", x, "target", target);
  require(x.shape() == target.shape(), operation, ": ", x.shape(), " for targets of ",
          target.shape(), ", expected equal shapes");
  return mean(pointwise(operation, f, x, target));
}

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target) {
  auto f = [](Scalar x, Scalar t) {
    return with_gradients((x - t) * (x - t), 2 * (x - t), 2 * (t - x));
  };
  return mean_loss("mse_loss", f, x, target);
}

Tensor binary_cross_entropy(const Tensor& p, const Tensor& target) {
  auto f = [](Scalar p, Scalar t) {
    require(0 <= p && p <= 1 && 0 <= t && t <= 1, "binary_cross_entropy: ", p, " for a target of ",
            t, ", expected both in 0 to 1");
    Scalar yes = bounded(std::log(p)), no = bounded(std::log1p(-p));
    Scalar slope = (p - t) / std::max((1 - p) * p, Scalar(1e-12));
    return with_gradients(-t * yes - (1 - t) * no, slope, no - yes);
  };
  return mean_loss("binary_cross_entropy", f, p, target);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target) {
  auto f = [](Scalar z, Scalar t) {
    Scalar loss = std::max(z, Scalar(0)) - z * t + std::log1p(std::exp(-std::abs(z)));
    return with_gradients(loss, 1 / (1 + std::exp(-z)) - t, -z);
  };
  return mean_loss("binary_cross_entropy_with_logits", f, logits, target);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
