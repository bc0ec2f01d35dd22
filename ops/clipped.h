#pragma once

// Moves scores between keys and clipped distances (Shaw et al. 2018, "Self-Attention with Relative
// Position Representations", section 3.2). The distance from query i back to key j is
// δ = K - T + i - j, and the pair belongs to bucket
//
//     c(i, j) = clip(-δ, -m, m) + m,   one of 2m + 1
//
// Gathering and bucketing are each other's gradient.

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// y[…, i, j] = x[…, i, c(i, j)]: x […, T, 2m+1] gives […, T, K].
Tensor gather_by_distance(const Tensor& x, int64_t K);

/// y[…, i, c] = Σ_{j: c(i, j) = c} x[…, i, j]: x […, T, K] gives […, T, 2m+1].
Tensor bucket_by_distance(const Tensor& x, int64_t m);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
