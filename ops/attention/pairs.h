#pragma once

// What a tile's rows need for each single pair: clipped distances and dropout.

#include "ops/attention/tile.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// scores_ij += by_clipped[i, c] for the clipped distance c of each pair; by_clipped is
/// [rows, 2m + 1].
void add_clipped(const ConstMatrix& by_clipped, const AttentionTile& tile, const Matrix& scores);

/// Sums by clipped distance: sums[i, c] += Σ x_ij over the keys of clipped distance c. This is the
/// reverse of add_clipped.
void sum_clipped(const ConstMatrix& x, const AttentionTile& tile, const Matrix& sums);

/// dropped = p ⊙ the dropout's factors, for some rows. Where `gradients` has data, it is multiplied
/// by them too.
void drop_rows(const AttentionTile& tile, int64_t first, int64_t count, const ConstMatrix& p,
               const Matrix& dropped, const Matrix& gradients);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
