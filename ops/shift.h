#pragma once

// The shift that turns scores by distance into scores by position: row i of a [T, K] matrix moves
// left by T - 1 - i. Pad a zero column on the left, flatten, drop the first T, read in rows of K
// (Dai et al. 2019, Transformer-XL, appendix B):
//
//     1 2 3      0 1 2 3                                        3 0 4
//     4 5 6  ->  0 4 5 6  ->  0 1 2 | 3 0 4 | 5 6 0 | 7 8 9  ->  5 6 0
//     7 8 9      0 7 8 9                                        7 8 9
//
// Flattening, dropping and reshaping only change the layout. So code that writes the padded matrix
// in the first place (`matmul_left_padded`) gets the shift and its gradient for nothing.

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Adds a zero column on the left of x […, T, K], which gives […, T, K+1]: one copy.
Tensor pad_left(const Tensor& x);
/// Adds a zero column on the right of x […, T, K].
Tensor pad_right(const Tensor& x);

/// Computes a bᵀ for a […, T, D] and b […, K, D], and writes it straight into columns 1 … K of a
/// tensor […, T, K+1] whose column 0 is zero.
Tensor matmul_left_padded(const Tensor& a, const Tensor& b);

/// Returns the shifted view [..., T, K] of a padded [..., T, K+1]: no copy, no allocation, no
/// backward code. Entry (i, j) is column j + T - 1 - i of row i as long as j - i ≤ K - T; beyond
/// that lie values wrapped from the next row, for a mask to hide. Throws when the padded rows have
/// gaps between them.
Tensor rel_shift_view(const Tensor& padded);

/// Does pad_left, then rel_shift_view. With `zero_triu` the wrapped entries (j - i > K - T) become
/// 0.
Tensor rel_shift(const Tensor& x, bool zero_triu = false);

/// Scores queries against distances and returns the scores by position. q is [B, H, T, D]. rows
/// [n, H, D] has one row for each distance from the greatest δ = K - 1 down, with n = K for causal
/// attention and K + T - 1 where the future is seen too. Entry (i, j) is q_i · rows[j + T - 1 - i];
/// in the causal form the future's entries are wrapped values. Returns [B, H, T, K], by the
/// zero-copy shift.
Tensor relative_product(const Tensor& q, const Tensor& rows, int64_t K);

/// Scores keys against distances, likewise: entry (i, j) of [B, H, T, K] is
/// k_j · rows[j + T - 1 - i], for k [B, H, K, D] and rows as above. A distance beyond the rows
/// gives 0.
Tensor relative_key_product(const Tensor& k, const Tensor& rows, int64_t T);

/// Shifts scores that are one number for each distance and head: rows [n, H] give [H, T, K].
Tensor relative_bias(const Tensor& rows, int64_t T, int64_t K);

/// Shifts the mirror image (labml's shift_right): adds a zero column on the right, flattens, drops
/// the end and reads in rows of K. Row i moves right by i; what enters on the left comes from the
/// end of the row above.
Tensor shift_right(const Tensor& x);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
