// Computes, tile by tile as `tile.h` draws it,
//
//     score = factor ((q + content_bias) kᵀ + shifted((q + position_bias) position_rowsᵀ) + …)
//     y = softmax(score) v + …
//
// Each block writes rows of y of its own, where the sums over its tiles are kept too.

#include <algorithm>
#include <array>

#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "ops/attention/pairs.h"
#include "ops/attention/scores.h"
#include "ops/softmax_row.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// One block: y = Σ_j e_ij v_j of the keys so far, and the e_ij summed up by clipped distance.
struct ForwardBlock {
  const AttentionBlock& block;
  const AttentionScratch& scratch;
  Zeros zeros;
  Matrix y;  // [rows, E]
  const RelativeAttention& a = block.problem.a;
  Matrix by_clipped =
      block.rows_in(scratch.clipped_sums, row_count(a.clipped_values));  // [rows, 2m + 1]
  std::array<SoftmaxRow, AttentionProblem::most_rows> rows = {};

  /// Turns some rows of scores into e_ij, and shrinks the sums so far.
  void softmax(const AttentionTile& tile, const Matrix& scores, int64_t first, int64_t count) {
    const Interval* seen = &tile.seen[first];
    SoftmaxRow* part = &rows[first];
    std::array<Scalar, AttentionProblem::near_rows> results, shrink;
    simd::maxima(scores.rows_from(first, count), seen, results.data());
    for (int64_t i = 0; i < count; ++i) shrink[i] = part[i].raise(results[i]);
    if (tile.kept != 0)
      for (const Matrix& sums : {y.rows_from(first, count), by_clipped.rows_from(first, count)})
        simd::scale_rows(shrink.data(), sums, sums);
    make_exponentials(part, seen, scores.rows_from(first, count), results.data());
    for (int64_t i = 0; i < count; ++i) part[i].total += results[i];
  }

  void add(const TileScores& scores, const Factor& values, const AttentionRecord& record) {
    const AttentionTile& tile = scores.tile;
    const Matrix& e = scores.by_key;
    Factor left;
    for_near_rows(tile, [&](int64_t first, int64_t count) {
      const Matrix saved = record.exponentials.defined()
                               ? tile.part_of(record.exponentials).rows_from(first, count)
                               : Matrix{};
      fetch_rows(saved);
      scores.finish(first, count);
      softmax(tile, e, first, count);
      if (saved.data) copy_matrix(e.rows_from(first, count), saved);
      if (a.dropout.rate > 0) drop_rows(tile, first, count, e, e, {});
      left = scratch.left_part(e, false, first, count, scratch.panels);
    });
    weighted_product(zeros, left, values.block(tile.key_begin, tile.keys, 0, scratch.E), tile.kept,
                     y, tile.visible);
    if (a.clipped_values.defined()) sum_clipped(e, tile, by_clipped);
  }

  void finish(const HeadFactors& clipped_values) {
    if (a.clipped_values.defined())  // Σ_j e_ij clipped_values[c]
      weighted_product(zeros, scratch.left(by_clipped, scratch.clipped_panels),
                       clipped_values.of(block), 1, y);
    std::array<Scalar, AttentionProblem::most_rows> factors;
    for (int64_t i = 0; i < block.rows; ++i) {
      Scalar total = rows[i].total;
      factors[i] = total != 0 ? 1 / total : 1;
    }
    simd::scale_rows(factors.data(), y, y);
  }

  void save(const Tensor& record) const {
    Scalar* saved = record.mutable_data() + 2 * block.row_number();
    for (int64_t i = 0; i < block.rows; ++i) {
      saved[2 * i] = rows[i].greatest;
      saved[2 * i + 1] = rows[i].total;
    }
  }
};

/// What all tiles share.
struct ForwardFactors {
  const AttentionProblem& problem;
  TileList tiles{problem};
  ScoreFactors scores{problem, problem.packs()};
  static constexpr auto side = HeadFactors::Side::rows;
  HeadFactors values{problem.a.value, side, problem, problem.packs()};
  HeadFactors clipped_values{table_by_head(problem.a.clipped_values), side, problem,
                             problem.packs()};
};

void compute(const AttentionBlock& block, const ForwardFactors& factors,
             const AttentionScratch& scratch, const AttentionRecord& record) {
  ConstMatrix y = block.queries(record.y);
  Scalar* to = record.y.mutable_data() + (y.data - record.y.data());
  BlockQueries queries(block, &factors.scores, scratch);
  finite_or_selected([&](Zeros zeros) {
    ForwardBlock forward{block, scratch, zeros, {to, y.rows, y.columns, y.row_stride, 1}};
    if (block.problem.a.sink.defined()) forward.rows.fill(SoftmaxRow::of(block.sink()));
    clear_matrix(forward.by_clipped);
    bool sees = factors.tiles.for_tiles(block, [&](const AttentionTile& tile) {
      forward.add({tile, factors.scores, queries, scratch}, factors.values.of(block), record);
    });
    if (!sees) clear_matrix(forward.y);
    forward.finish(factors.clipped_values);
    if (record.rows.defined()) forward.save(record.rows);
    return is_finite(forward.y);
  });
}

}  // namespace

void attention_forward(const RelativeAttention& a, const AttentionRecord& record) {
  AttentionProblem problem{a, record.parameters};
  int64_t blocks = problem.blocks(), grain = problem.grain(1);
  if (problem.tasks_are_heads()) grain = divide_up(grain, blocks) * blocks;
  ForwardFactors factors{problem};
  parallel_ranges(problem.B * problem.H * blocks, grain, [&](int64_t begin, int64_t end) {
    AttentionScratch scratch{problem};
    for (int64_t next = begin; next < end;) {
      int64_t head = next / blocks, end_of_head = std::min((head + 1) * blocks, end);
      with_panels({&factors.scores.keys, &factors.values}, head, [&] {
        for (; next < end_of_head; ++next)
          compute({problem, head, next % blocks}, factors, scratch, record);
      });
    }
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
