#pragma once

// Losses of real values: a loss of each element, then their mean or sum. The gradient goes to x,
// and to the targets where they require one.

#include "core/named.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How the losses of the elements become the result: a mean or a sum of shape [], or none, which
/// keeps them as they are.
enum class Reduction { mean, sum, none };
constexpr auto names(Reduction) { return std::array{"mean", "sum", "none"}; }

/// How a loss of real values counts its elements.
struct LossOptions {
  /// The weight of each element, 0 or more, in a shape that broadcasts to that of x; undefined
  /// counts all alike. An element of weight 0, such as padding, is not read: it may be NaN, adds
  /// nothing and gets no gradient.
  Tensor weights{};
  /// With weights w, the sum is Σ w f and the mean Σ w f / Σ w.
  Reduction reduction = Reduction::mean;
};

// All throw unless the shapes of x and target are equal, and the weights are finite, at least 0 and
// constant. A mean also throws when the weights sum to 0; without weights, it is NaN over nothing.

/// (x - target)². PyTorch: functional.mse_loss, which broadcasts with a warning.
Tensor mse_loss(const Tensor& x, const Tensor& target, const LossOptions& options = {});

/// |x - target|; its gradient is 0 where both are equal. PyTorch: functional.l1_loss.
Tensor l1_loss(const Tensor& x, const Tensor& target, const LossOptions& options = {});

/// With d = |x - target|, d² / 2β where d < β, and d - β/2 elsewhere (Girshick 2015, equation 3,
/// for β = 1). Throws unless β is finite and at least 0, where it is |x - target|. PyTorch:
/// functional.smooth_l1_loss.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Scalar beta = 1,
                      const LossOptions& options = {});

/// δ times smooth_l1_loss with β = δ: d² / 2 where d < δ, and δ (d - δ/2) elsewhere (Huber 1964).
/// Throws unless δ is finite and greater than 0. PyTorch: functional.huber_loss.
Tensor huber_loss(const Tensor& x, const Tensor& target, Scalar delta = 1,
                  const LossOptions& options = {});

/// -(t log p + (1 - t) log(1 - p)) for probabilities p. A logarithm counts as no less than -100,
/// and the gradient (p - t) / (p (1 - p)) is divided by no less than 1e-12. Throws unless all p and
/// t that are read are in 0 … 1. PyTorch: functional.binary_cross_entropy.
Tensor binary_cross_entropy(const Tensor& p, const Tensor& target, const LossOptions& options = {});

/// The loss above for p = σ(logits), as max(z, 0) - z t + log(1 + e^-|z|), which is exact for all
/// logits z; targets may be any numbers. The gradient is σ(z) - t. PyTorch:
/// functional.binary_cross_entropy_with_logits.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const LossOptions& options = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
