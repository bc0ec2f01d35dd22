#pragma once

// The gradients of one block of queries, tile by tile. With dp_ij = dy_i·(v_j + clipped_values[c]),
// they follow from that of the scores,
//
//     ds_ij = factor · p_ij (dp_ij - Σ_m p_im dp_im)      where Σ_m p_im dp_im = dy_i·y_i
//
//     dq_i = Σ_j ds_ij (k_j + position_rows[δ] + clipped_keys[c])
//     dk_j = Σ_i ds_ij (q_i + content_bias)
//     dv_j = Σ_i p_ij dy_i
//     dposition_rows[δ] = Σ ds_ij (q_i + position_bias) over the pairs at distance δ
//     dposition_queries[δ] = Σ ds_ij k_j, and dk_j += Σ_i ds_ij position_queries[δ]
//
// and likewise for position_scores, key_scores, the clipped tables and the biases. Behind a score
// function, ds is first that of its results, of which each has a slope. A sink has a
// probability too, and a dp of 0.
//
// A tile has e_ij = total_i p_ij, so each block divides its rows of dy by their totals once, and
// p_ij itself is never made. ds by key, read by distance, is the gradient of the padded product:
// the shift costs nothing here either.

#include <array>

#include "ops/attention/gradients.h"
#include "ops/attention/scores.h"
#include "ops/softmax_row.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What all tiles share.
struct BackwardFactors {
  const AttentionProblem& problem;
  const AttentionGradients& gradients;
  const RelativeAttention& a = problem.a;
  bool packs = problem.packs();
  ScoreFactors scores{problem, packs && !problem.keeps_exponentials()};
  static constexpr auto side = HeadFactors::Side::rows, turned = HeadFactors::Side::transposed;
  HeadFactors keys{a.key, side, problem, packs};
  HeadFactors values{a.value, turned, problem, packs};
  HeadFactors position_rows{table_by_head(a.position_rows), side, problem, packs};
  HeadFactors position_queries{table_by_head(a.position_queries), side, problem, packs};
  HeadFactors clipped_keys{table_by_head(a.clipped_keys), side, problem, packs};
  HeadFactors clipped_values{table_by_head(a.clipped_values), turned, problem, packs};
};

/// What a thread needs beyond the scratch of the forward pass.
struct BackwardScratch : AttentionScratch {
  /// pᵀ and dsᵀ, as left factors.
  Buffer probability_panels{panels.count()}, gradient_panels{panels.count()};
  /// dy_i / total_i [rows, E], and that as a left factor.
  Buffer scaled{rows * E}, scaled_panels{packs ? left_panel_count(rows, E) : 0};
  /// The slopes of a score function [rows, keys].
  Buffer slopes{problem.a.score_function ? rows * keys : 0};
  /// dq_i [rows, D], from each product.
  Buffer content_slope{rows * D}, position_slope{rows * D};
  /// dy_i / total_i and the queries as right factors.
  Buffer scaled_factor{packs ? right_panel_count(rows, E) : 0};
  Buffer content_factor{packs ? right_panel_count(rows, D) : 0};
  Buffer position_factor{content_factor.count()};
  /// [rows, 2m + 1]
  Buffer clipped_gradients{clipped_sums.count()}, clipped_slopes{clipped_scores.count()};

  /// Packs a right factor where tiles are packed.
  Factor right(const ConstMatrix& x, const Buffer& memory) const {
    return packs ? pack_right(x, memory.data()) : Factor{x};
  }
};

/// One block of one task, which adds to the task's gradients.
struct BlockGradients {
  const BackwardFactors& factors;
  const BackwardScratch& scratch;
  const AttentionRecord& record;
  const AttentionBlock& block;
  int64_t task;
  Zeros zeros;
  const RelativeAttention& a = factors.a;
  const AttentionGradients& gradients = factors.gradients;
  BlockQueries queries{block, record.exponentials.defined() ? nullptr : &factors.scores, scratch};
  std::array<SoftmaxRow, AttentionProblem::most_rows> rows = {};
  std::array<Scalar, AttentionProblem::most_rows> means = {};  // dy_i·y_i / total_i
  Matrix scaled = block.rows_in(scratch.scaled, scratch.E);    // [rows, E]
  /// [rows, D]
  Matrix dq = gradients.query.wanted() ? gradients.query.of(task).rows_from(block.first, block.rows)
                                       : block.rows_in(scratch.content_slope, scratch.D);
  Matrix dq_position = block.rows_in(scratch.position_slope, scratch.D);
  /// [rows, 2m + 1]
  Matrix clipped_gradients = block.rows_in(scratch.clipped_gradients, row_count(a.clipped_values));
  Matrix clipped_sums = block.rows_in(scratch.clipped_sums, row_count(a.clipped_values));
  Matrix clipped_slopes = block.rows_in(scratch.clipped_slopes, row_count(a.clipped_keys));
  Factor scaled_left{};
  Factor scaled_right{}, content_right{}, position_right{};

  /// Sets the rows of dy, from which all else follows.
  void begin(const Tensor& dy);
  /// Adds the gradients that a tile has.
  void add(const AttentionTile& tile) const;
  /// Adds those that the block has as a whole: of the query, the biases and the clipped tables.
  /// `sees` is whether it has a tile. Returns whether that of the query is finite.
  bool finish(bool sees) const;

 private:
  void sink_gradient(Scalar* sum) const;
  void make_weights(const TileScores& scores, int64_t first, int64_t count) const;
  void score_gradients(const AttentionTile& tile, const Matrix& e, const Matrix& dropped,
                       const Matrix& ds, int64_t first, int64_t count) const;
  void through_score_function(const TileScores& scores, const Matrix& ds, int64_t first,
                              int64_t count) const;
  void clear_left_out(const Matrix& x, int64_t first, int64_t count) const;
  void add_product(const TaskGradient& to, int64_t first_row, const Factor& left,
                   const Factor& right, const Band& of_left = {}) const;
  void position_gradients(const AttentionTile& tile, const ShiftedScores& ds) const;
  void position_query_gradients(const AttentionTile& tile, const ConstMatrix& ds) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
