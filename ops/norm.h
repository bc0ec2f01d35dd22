#pragma once

// Norms of each row: layer norm, norm by deviation and RMS norm. All throw unless epsilon is finite
// and at least 0.

#include <limits>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Layer norm: w ⊙ (x - mean) / √(variance + epsilon) + b over the last axis, with the variance
/// over n (Ba et al. 2016). x [..., C], weight and bias [C]. PyTorch: functional.layer_norm.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon = 1e-5);

/// Norm by deviation: w ⊙ (x - mean) / (std + epsilon) + b, with the standard deviation over n - 1
/// (`unbiased`) or n. The first is the norm of "The Annotated Transformer" and of the
/// R-Transformer's code. No gradient passes through the deviation of a row of equal elements.
Tensor deviation_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
                      bool unbiased = true);

/// Root mean square norm: w ⊙ x / √(mean(x²) + epsilon) over the last axis (Zhang and Sennrich
/// 2019). x [..., C], weight [C] or undefined for none. PyTorch: functional.rms_norm, whose epsilon
/// unless given is this one, too.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {},
                double epsilon = std::numeric_limits<Scalar>::epsilon());

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
