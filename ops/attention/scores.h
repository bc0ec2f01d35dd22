#pragma once

// The scores of a tile, where they stand, and what a thread needs to make them.

#include <algorithm>

#include "ops/attention/factors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the distance in memory between the rows of a tile's scores by key.
int64_t score_step(int64_t rows, int64_t keys);

/// One buffer seen by distance, [rows, distances], and shifted by key, [rows, keys].
struct ShiftedScores {
  Matrix by_distance, by_key;

  ShiftedScores(const Buffer& buffer, const AttentionTile& tile);
  /// Zeroes the elements of by_distance that are not in by_key.
  void clear_rest() const;
};

/// Some keys of a tile, with the distances to its queries. Their products with position_queries are
/// scores by key, which are shifted as those by query are: with the keys for rows, and the queries
/// from the last to the first for columns.
struct KeyPart {
  int64_t begin, keys;  ///< counted from the tile's first key
  int64_t table_begin;  ///< of position_queries
  Matrix by_distance;   ///< [keys, distances]
  Matrix by_query;      ///< the same memory, shifted, [keys, rows]
  static Band inside(const AttentionTile& tile) { return {0, tile.rows - 1}; }
};

/// Calls body(part) for parts of a tile, each of which stands in `buffer`.
template <class Body>
void for_key_parts(const AttentionTile& tile, const Tensor& position_queries, const Buffer& buffer,
                   Body body) {
  for (int64_t begin = 0; begin < tile.keys; begin += AttentionProblem::most_rows) {
    int64_t keys = std::min(AttentionProblem::most_rows, tile.keys - begin);
    int64_t table_begin = tile.table_begin + begin, distances = keys + tile.rows - 1;
    Matrix by_distance = Matrix::row_major(buffer.data(), keys, distances);
    Matrix by_query{buffer.data() + tile.rows - 1, keys, tile.rows, distances + 1, -1};
    by_distance.columns = std::clamp<int64_t>(position_queries.size(0) - table_begin, 0, distances);
    body(KeyPart{begin, keys, table_begin, by_distance, by_query});
  }
}

/// Memory that a thread needs for one block and one tile at a time.
struct AttentionScratch {
  static constexpr int64_t most_rows = AttentionProblem::most_rows;

  const AttentionProblem& problem;
  bool packs = problem.packs();
  int64_t D = problem.D, E = problem.E, rows = problem.block_rows();
  int64_t keys = std::min(problem.tile_keys(), problem.K);
  /// [rows, rows + keys]
  Buffer scores{rows * (score_step(rows, keys) + 1) + 1}, gradients{scores.count()};
  /// [rows, keys]
  Buffer dropped{problem.a.dropout.rate > 0 ? rows* keys : 0};
  /// [keys of a part, distances]
  Buffer key_part{problem.a.position_queries.defined() ? most_rows * (rows + most_rows) : 0};
  /// The panels of any left factor that a tile makes.
  Buffer panels{packs
                    ? std::max({left_panel_count(rows, rows + keys), left_panel_count(most_rows, D),
                                left_panel_count(most_rows, rows + most_rows)})
                    : 0};
  /// [rows, D], and these as left factors.
  Buffer content_query{rows * D}, position_query{rows * D};
  Buffer content_panels{packs ? left_panel_count(rows, D) : 0};
  Buffer position_panels{content_panels.count()};
  /// [rows, 2m + 1]
  Buffer clipped_scores{rows * row_count(problem.a.clipped_keys)};
  Buffer clipped_sums{rows * row_count(problem.a.clipped_values)};
  int64_t clipped_rows =
      std::max(row_count(problem.a.clipped_keys), row_count(problem.a.clipped_values));
  /// A matrix [rows, clipped_rows], or its transpose, as a left factor.
  Buffer clipped_panels{packs ? left_panel_count(rows, clipped_rows) : 0};

  /// Packs a left factor where tiles are packed.
  Factor left(const ConstMatrix& a, const Buffer& memory) const;
  /// Returns the left factor aᵀ for a packed a; where it has to be packed anew, in `memory`, which
  /// may be that of a.
  Factor transposed(const Factor& a, const Buffer& memory) const;
  /// Packs some rows of a, as part of a or of its transpose as a left factor; returns the whole.
  Factor left_part(const ConstMatrix& a, bool transposed, int64_t first, int64_t count,
                   const Buffer& memory) const;
};

/// q_i + content_bias and q_i + position_bias for the block's queries, [rows, D]
/// each, and factor times the second one's products with clipped_keys, [rows, 2m + 1].
struct BlockQueries {
  Factor content, position;
  ConstMatrix clipped_scores;

  /// Computes no scores where `factors` is null.
  BlockQueries(const AttentionBlock& block, const ScoreFactors* factors,
               const AttentionScratch& scratch);
};

/// Returns row i of a tile as a score function takes it: the keys that the row sees.
ScoreRow score_row(const AttentionTile& tile, int64_t i);

/// The scores of a tile, [rows, keys] in scratch.scores.
struct TileScores {
  const AttentionTile& tile;
  const BlockQueries& queries;
  Factor keys;  // [D, keys]
  Matrix by_key;
  Matrix slopes{};   ///< [rows, keys], for those of a score function; null where nobody wants them
  Scalar begun = 0;  ///< 1 where there are terms besides q·k

  /// Computes all terms but q·k.
  TileScores(const AttentionTile& its_tile, const ScoreFactors& factors,
             const BlockQueries& its_queries, const AttentionScratch& scratch);

  /// Finishes rows first … first + count - 1. A score is -inf where a mask hides the key, and may
  /// be anything outside the causal rule and the window.
  void finish(int64_t first, int64_t count) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
