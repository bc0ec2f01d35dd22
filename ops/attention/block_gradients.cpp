#include "ops/attention/block_gradients.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/machine/simd.h"
#include "ops/attention/pairs.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void BlockGradients::begin(const Tensor& dy) {
  for (const Matrix* sums : {&dq_position, &clipped_sums, &clipped_slopes}) clear_matrix(*sums);
  ConstMatrix dy_rows = block.queries(dy);
  const Scalar* saved = record.rows.data() + 2 * block.row_number();
  std::array<Scalar, AttentionProblem::most_rows> inverse_totals;
  for (int64_t i = 0; i < block.rows; ++i) {
    SoftmaxRow& row = rows[i] = {saved[2 * i], saved[2 * i + 1]};
    // By selecting, a row of dy that is 0 passes nothing on: as if its query saw no key.
    if (zeros == Zeros::select && is_zero(&dy_rows.at(i, 0), scratch.E)) row = {};
    inverse_totals[i] = 1 / row.total;
  }
  simd::scale_rows(inverse_totals.data(), dy_rows, scaled);
  clear_left_out(scaled, 0, block.rows);
  simd::softmax_means(scaled, block.queries(record.y), means.data());
  if (gradients.sink.wanted()) sink_gradient(gradients.sink.of(task).data);
  scaled_left = scratch.left(scaled, scratch.scaled_panels);
  scaled_right = scratch.right(scaled, scratch.scaled_factor);
  content_right = scratch.right(queries.content.matrix, scratch.content_factor);
  position_right = scratch.right(queries.position.matrix, scratch.position_factor);
  if (a.clipped_values.defined())
    tile_product(1, scaled_left, factors.clipped_values.of(block), 0, clipped_gradients);
}

/// dsink -= Σ_i p_i,sink dy_i·y_i, where the sink has the probability that keys leave to it.
void BlockGradients::sink_gradient(Scalar* sum) const {
  for (int64_t i = 0; i < block.rows; ++i)
    if (rows[i].total != 0) *sum -= std::exp(block.sink() - rows[i].greatest) * means[i];
}

void BlockGradients::add(const AttentionTile& tile) const {
  std::optional<TileScores> scores;
  if (!record.exponentials.defined()) scores.emplace(tile, factors.scores, queries, scratch);
  if (a.score_function)
    scores->slopes = Matrix::row_major(scratch.slopes.data(), tile.rows, tile.keys);
  Matrix e = scores ? scores->by_key : tile.part_of(record.exponentials), dropped = e;
  if (a.dropout.rate > 0) dropped = Matrix::row_major(scratch.dropped.data(), tile.rows, tile.keys);
  ShiftedScores gradient(scratch.gradients, tile);
  const Matrix& ds = gradient.by_key;
  if (a.clipped_values.defined()) {
    clear_matrix(ds);
    add_clipped(clipped_gradients, tile, ds);
  }
  Factor p_transposed, ds_left, ds_transposed;
  const bool ds_serves_both = packs_serve_transposed();
  for_near_rows(tile, [&](int64_t first, int64_t count) {
    if (scores) make_weights(*scores, first, count);
    score_gradients(tile, e, dropped, ds, first, count);
    if (a.score_function) through_score_function(*scores, ds, first, count);
    p_transposed = scratch.left_part(dropped, true, first, count, scratch.probability_panels);
    ds_left = scratch.left_part(ds, false, first, count, scratch.panels);
    if (!ds_serves_both)
      ds_transposed = scratch.left_part(ds, true, first, count, scratch.gradient_panels);
  });
  if (ds_serves_both) ds_transposed = ds_left.transposed();
  add_product(gradients.value, tile.key_begin, p_transposed, scaled_right,
              tile.visible.transposed());
  if (gradients.clipped_values.wanted()) sum_clipped(dropped, tile, clipped_sums);
  weighted_product(zeros, ds_left,
                   factors.keys.of(block).block(tile.key_begin, tile.keys, 0, scratch.D), tile.kept,
                   dq, tile.visible);
  add_product(gradients.key, tile.key_begin, ds_transposed, content_right,
              tile.visible.transposed());
  if (a.clipped_keys.defined()) sum_clipped(ds, tile, clipped_slopes);
  if (a.position_rows.defined() || gradients.position_scores.wanted())
    position_gradients(tile, gradient);
  if (gradients.key_scores.wanted())
    simd::sum_rows(ds, gradients.key_scores.of(task).data + tile.key_begin);
  if (a.position_queries.defined()) position_query_gradients(tile, ds);
}

bool BlockGradients::finish(bool sees) const {
  if (!sees) clear_matrix(dq);
  auto clipped_left = [&](const ConstMatrix& x) { return scratch.left(x, scratch.clipped_panels); };
  if (gradients.clipped_values.wanted())
    add_product(gradients.clipped_values, 0, clipped_left(ConstMatrix(clipped_sums).transposed()),
                scaled_right);
  if (a.clipped_keys.defined())
    weighted_product(zeros, clipped_left(clipped_slopes), factors.clipped_keys.of(block), 1,
                     dq_position);
  if (gradients.clipped_keys.wanted())
    add_product(gradients.clipped_keys, 0, clipped_left(ConstMatrix(clipped_slopes).transposed()),
                position_right);
  if (gradients.content_bias.wanted()) simd::sum_rows(dq, gradients.content_bias.of(task).data);
  if (gradients.position_bias.wanted())
    simd::sum_rows(dq_position, gradients.position_bias.of(task).data);
  if (meets_positions(a)) simd::add_rows(dq, dq_position, dq);
  return is_finite(dq);
}

/// Makes some rows of e_ij = total_i p_ij again.
void BlockGradients::make_weights(const TileScores& scores, int64_t first, int64_t count) const {
  scores.finish(first, count);
  std::array<Scalar, AttentionProblem::near_rows> sums;
  make_exponentials(&rows[first], &scores.tile.seen[first], scores.by_key.rows_from(first, count),
                    sums.data());
}

/// Sets some rows of ds_ij, which begin with dy_i·clipped_values[c] / total_i where there are such.
void BlockGradients::score_gradients(const AttentionTile& tile, const Matrix& e,
                                     const Matrix& dropped, const Matrix& ds, int64_t first,
                                     int64_t count) const {
  Matrix rows_of_ds = ds.rows_from(first, count);
  if (zeros == Zeros::select) clear_left_out(e, first, count);
  fetch_rows(e.rows_from(first, count));
  // dp_ij = dy_i·(v_j + clipped_values[c]) / total_i
  tile_product(1, scaled_left.rows_from(first, count),
               factors.values.of(block).block(0, scratch.E, tile.key_begin, tile.keys),
               a.clipped_values.defined() ? 1 : 0, rows_of_ds, {}, tile.visible.rows_from(first));
  if (a.dropout.rate > 0) drop_rows(tile, first, count, e, dropped, ds);
  if (zeros == Zeros::select)  // a dropped p_ij, which y_i does not depend on
    clear_unweighted(dropped.rows_from(first, count), rows_of_ds);
  const Scalar factor = gradients.score_parameters.wanted() ? 1 : *a.factor;
  simd::softmax_gradients(e.rows_from(first, count), rows_of_ds, &means[first], factor, 0,
                          rows_of_ds);
}

/// Takes some rows of ds from a score function's results to its scores before the factor, which is
/// in ds already where no parameters want the gradient without it. A pair whose ds is 0 passes
/// nothing on, whatever its slope.
void BlockGradients::through_score_function(const TileScores& scores, const Matrix& ds,
                                            int64_t first, int64_t count) const {
  for (int64_t i = first; i < first + count; ++i) {
    const ScoreRow row = score_row(scores.tile, i);
    const int64_t begin = scores.tile.seen[i].begin;
    Scalar* const slopes = &scores.slopes.at(i, begin);
    Scalar* const d = &ds.at(i, begin);
    if (gradients.score_parameters.wanted()) {
      a.score_function->backward(row, d, gradients.score_parameters.of(task).data);
      simd::axpby(*a.factor, d, 0, d, row.count);
    }
    simd::zip(simd::Binary::weigh, d, slopes, d, row.count);
  }
}

/// Sets rows of x that pass nothing on to 0.
void BlockGradients::clear_left_out(const Matrix& x, int64_t first, int64_t count) const {
  for (int64_t i = first; i < first + count; ++i)
    if (rows[i].total == 0) clear_matrix(x.rows_from(i, 1));
}

/// Adds left · right to the task's gradient of an input, from this row on.
void BlockGradients::add_product(const TaskGradient& to, int64_t first_row, const Factor& left,
                                 const Factor& right, const Band& of_left) const {
  if (to.wanted())
    weighted_product(zeros, left, right, 1, to.of(task).rows_from(first_row, left.matrix.rows),
                     of_left);
}

/// dq_i += Σ_δ ds_iδ position_rows[δ], dposition_rows[δ] += Σ_i ds_iδ (q_i + position_bias), and
/// the gradient of position_scores.
void BlockGradients::position_gradients(const AttentionTile& tile, const ShiftedScores& ds) const {
  ds.clear_rest();
  ConstMatrix by_distance = ds.by_distance;
  if (a.position_rows.defined()) {
    const Factor left = scratch.left(by_distance, scratch.panels);
    weighted_product(
        zeros, left,
        factors.position_rows.of(block).block(tile.table_begin, tile.distances, 0, scratch.D), 1,
        dq_position, tile.inside);
    if (gradients.position_rows.wanted())
      add_product(gradients.position_rows, tile.table_begin,
                  scratch.transposed(left, scratch.panels), position_right, tile.inside);
  }
  if (gradients.position_scores.wanted())
    simd::sum_rows(by_distance, gradients.position_scores.of(task).data + tile.table_begin);
}

/// dk_j += Σ_i ds_ij position_queries[δ], dposition_queries[δ] += Σ ds_ij k_j.
void BlockGradients::position_query_gradients(const AttentionTile& tile,
                                              const ConstMatrix& ds) const {
  if (!gradients.key.wanted() && !gradients.position_queries.wanted()) return;
  for_key_parts(tile, a.position_queries, scratch.key_part, [&](const KeyPart& part) {
    std::fill_n(scratch.key_part.data(), scratch.key_part.count(), Scalar{0});
    add_matrix(ds.columns_from(part.begin, part.keys).transposed(), part.by_query);
    const Factor by_distance = scratch.left(part.by_distance, scratch.panels);
    const int64_t first_key = tile.key_begin + part.begin;
    const Band inside = part.inside(tile);
    add_product(gradients.key, first_key, by_distance,
                factors.position_queries.of(block).block(part.table_begin, part.by_distance.columns,
                                                         0, scratch.D),
                inside);
    if (gradients.position_queries.wanted())
      add_product(gradients.position_queries, part.table_begin,
                  scratch.transposed(by_distance, scratch.panels),
                  factors.keys.of(block).block(first_key, part.keys, 0, scratch.D),
                  inside.transposed());
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
