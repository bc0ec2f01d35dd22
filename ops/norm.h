#pragma once

#include "core/tensor.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// w ⊙ (x - mean) / √(variance + epsilon) + b over the last axis, the variance over n (Ba et al.
/// 2016). x [..., C], weight and bias [C]. PyTorch: functional.layer_norm.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon = 1e-5);

/// w ⊙ (x - mean) / (std + epsilon) + b, the standard deviation over n - 1: the norm of "The
/// Annotated Transformer" and of the R-Transformer's code. A row of equal elements gives b and
/// passes on no gradient through its deviation.
Tensor annotated_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                      double epsilon = 1e-6);

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
