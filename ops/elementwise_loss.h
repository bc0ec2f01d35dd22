#pragma once

// Losses that compare a tensor with targets, element by element, and take the mean: a tensor of
// shape [], NaN over nothing. The gradient goes to the targets too, where they require one. All
// throw unless the shapes are equal.

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The mean of (x - target)². PyTorch: functional.mse_loss, which broadcasts with a warning.
Tensor mse_loss(const Tensor& x, const Tensor& target);

/// The mean of -(t log p + (1 - t) log(1 - p)) for probabilities p. A logarithm counts as no less
/// than -100, and the gradient (p - t) / (p (1 - p)) is divided by no less than 1e-12. Throws
/// unless all p and t are in 0 … 1. PyTorch: functional.binary_cross_entropy.
Tensor binary_cross_entropy(const Tensor& p, const Tensor& target);

/// The loss above for p = σ(logits), as max(z, 0) - z t + log(1 + e^-|z|), which is exact for all
/// logits z; targets may be any numbers. The gradient is σ(z) - t. PyTorch:
/// functional.binary_cross_entropy_with_logits.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
