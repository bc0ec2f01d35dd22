#pragma once

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Sums with weights, y_i = Σ_j p_ij x_j over the j with p_ij ≠ 0, for p [B, H, T, K] and x
/// [B, H, K, D]; 1 for B or H of x broadcasts. This is matmul(p, x), but what has the weight 0 can
/// hold anything, also NaN, and gets no gradient; and a row of dy that is 0 passes nothing on.
/// Throws when the shapes do not fit.
Tensor weighted_sum(const Tensor& p, const Tensor& x);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
