#include "ops/elementwise_loss.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "ops/arithmetic.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the weights in the shape of x.
Tensor broadcast_weights(const char* operation, const Tensor& weights, const Dims& shape) {
  require(!weights.requires_gradient(), operation,
          ": weights that require a gradient, expected constant ones; detach() them");
  Tensor all = in_name_of(text(operation, ": weights"), [&] { return expand(weights, shape); });
  for (Scalar weight : weights.values())
    require(std::isfinite(weight) && weight >= 0, operation, ": a weight of ", weight,
            ", expected a finite one of at least 0");
  return all;
}

/// Returns the losses of all elements as one number, which a mean divides by `total`.
Tensor reduced(const Tensor& losses, Reduction reduction, Scalar total) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : scale(sum(losses), 1 / total);
}

/// Reduces f(x, target) = {loss, its slopes by x and by target} over all elements.
Tensor loss_of(const char* operation, auto f, const Tensor& x, const Tensor& target,
               const LossOptions& options) {
  require_defined(operation, "x", x, "target", target);
  require(x.shape() == target.shape(), operation, ": ", x.shape(), " for targets of ",
          target.shape(), ", expected equal shapes");
  if (!options.weights.defined())
    return reduced(pointwise(operation, f, x, target), options.reduction,
                   static_cast<Scalar>(x.count()));
  Tensor weights = broadcast_weights(operation, options.weights, x.shape());
  Scalar total = sum(weights).item();
  require(total > 0 || options.reduction != Reduction::mean, operation,
          ": a mean over weights whose sum is ", total, ", expected more than 0");
  auto weighted = [f](Scalar x, Scalar t, Scalar weight) {
    if (weight == 0) return with_gradients(0, 0, 0, 0);
    auto [loss, dx, dt] = f(x, t);
    return with_gradients(weight * loss, weight * dx, weight * dt, 0);
  };
  return reduced(pointwise(operation, weighted, x, target, weights), options.reduction, total);
}

/// Returns a function of d = x - t and of its sign, which has its slope, as `loss_of` wants it.
auto of_difference(auto f) {
  return [f](Scalar x, Scalar t) {
    auto [loss, slope] = f(x - t);
    return with_gradients(loss, slope, -slope);
  };
}

/// Returns d² / 2 where |d| < bound, and bound (|d| - bound/2) elsewhere, all times `factor`.
auto bounded_square(Scalar bound, Scalar factor) {
  return of_difference([=](Scalar d) {
    Scalar size = std::abs(d);
    if (size < bound) return with_gradients(factor * d * d / 2, factor * d);
    Scalar slope = factor * bound;
    return with_gradients(slope * (size - bound / 2), d > 0 ? slope : d < 0 ? -slope : d);
  });
}

/// Returns a logarithm that counts as no less than -100.
Scalar bounded(Scalar logarithm) { return std::max(logarithm, Scalar(-100)); }

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, const LossOptions& options) {
  auto f = of_difference([](Scalar d) { return with_gradients(d * d, 2 * d); });
  return loss_of("mse_loss", f, x, target, options);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, const LossOptions& options) {
  auto f = of_difference([](Scalar d) {
    Scalar sign = d > 0 ? 1 : d < 0 ? -1 : 0;
    return with_gradients(std::abs(d), sign);
  });
  return loss_of("l1_loss", f, x, target, options);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Scalar beta,
                      const LossOptions& options) {
  require(std::isfinite(beta) && beta >= 0, "smooth_l1_loss: beta ", beta,
          ", expected a finite number of at least 0");
  if (beta == 0) return l1_loss(x, target, options);
  return loss_of("smooth_l1_loss", bounded_square(beta, 1 / beta), x, target, options);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, Scalar delta, const LossOptions& options) {
  require(std::isfinite(delta) && delta > 0, "huber_loss: delta ", delta,
          ", expected a finite number greater than 0");
  return loss_of("huber_loss", bounded_square(delta, 1), x, target, options);
}

Tensor binary_cross_entropy(const Tensor& p, const Tensor& target, const LossOptions& options) {
  auto f = [](Scalar p, Scalar t) {
    require(0 <= p && p <= 1 && 0 <= t && t <= 1, "binary_cross_entropy: ", p, " for a target of ",
            t, ", expected both in 0 to 1");
    Scalar yes = bounded(std::log(p)), no = bounded(std::log1p(-p));
    Scalar slope = (p - t) / std::max((1 - p) * p, Scalar(1e-12));
    return with_gradients(-t * yes - (1 - t) * no, slope, no - yes);
  };
  return loss_of("binary_cross_entropy", f, p, target, options);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const LossOptions& options) {
  auto f = [](Scalar z, Scalar t) {
    Scalar loss = std::max(z, Scalar(0)) - z * t + std::log1p(std::exp(-std::abs(z)));
    return with_gradients(loss, 1 / (1 + std::exp(-z)) - t, -z);
  };
  return loss_of("binary_cross_entropy_with_logits", f, logits, target, options);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
