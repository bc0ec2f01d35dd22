#include "ops/attention/scores.h"

#include <limits>

#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "ops/attention/pairs.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Sets every row of `by_distance` to factor · position_scores[δ], from which each key's score
/// begins.
void start_with_scores(const AttentionTile& tile, const Matrix& by_distance) {
  const RelativeAttention& a = tile.problem.a;
  const Dims& strides = a.position_scores.layout().strides;
  const Scalar* s = a.position_scores.data() + tile.table_begin * strides[0] + tile.h * strides[1];
  for (int64_t n = 0; n < tile.distances; ++n) by_distance.data[n] = *a.factor * s[n * strides[0]];
  for (int64_t i = 1; i < tile.rows; ++i)
    std::copy_n(by_distance.data, tile.distances, by_distance.data + i * by_distance.row_stride);
}

/// Adds factor · key_scores[j] to each row of `by_key`, or lets it begin with them.
void add_key_scores(const AttentionTile& tile, Scalar begun, const Matrix& by_key) {
  const Tensor& scores = tile.problem.a.key_scores;
  const int64_t head = scores.size(1) == 1 ? 0 : tile.h;
  const Dims& strides = scores.layout().strides;
  const Scalar* g = scores.data() + tile.b * strides[0] + head * strides[1] + tile.key_begin;
  for (int64_t i = 0; i < by_key.rows; ++i)
    simd::axpby(*tile.problem.a.factor, g, begun, &by_key.at(i, 0), tile.keys);
}

void hide(const AttentionTile& tile, int64_t row, Interval range, Scalar* scores) {
  constexpr Scalar hidden = -std::numeric_limits<Scalar>::infinity();
  const Visibility& visibility = tile.problem.a.visibility;
  const Interval gap = visibility.gap(tile.first + row, tile.problem.T, tile.problem.K);
  for (int64_t j = std::max(range.begin, gap.begin - tile.key_begin);
       j < std::min(range.end, gap.end - tile.key_begin); ++j)
    scores[j] = hidden;
  for (const uint8_t* mask :
       {visibility.padding_row(tile.b), visibility.hidden_row(tile.b, tile.first + row)})
    if (mask)
      for (int64_t j = range.begin; j < range.end; ++j)
        scores[j] = mask[tile.key_begin + j] ? hidden : scores[j];
}

}  // namespace

int64_t score_step(int64_t rows, int64_t keys) {
  constexpr int64_t multiple = 16;  // of vectors, so that rows are aligned
  return divide_up(rows + keys, multiple) * multiple;
}

ShiftedScores::ShiftedScores(const Buffer& buffer, const AttentionTile& tile) {
  int64_t step = score_step(tile.rows, tile.keys);
  by_distance = {buffer.data() + 1, tile.rows, tile.distances, step + 1, 1};
  by_key = {buffer.data() + tile.rows, tile.rows, tile.keys, step, 1};
}

void ShiftedScores::clear_rest() const {
  int64_t rest = by_key.row_stride - by_key.columns;
  std::fill_n(by_distance.data - 1, by_key.rows, Scalar{0});
  for (int64_t i = 0; i < by_key.rows; ++i)
    std::fill_n(by_key.data + i * by_key.row_stride + by_key.columns, rest, Scalar{0});
}

Factor AttentionScratch::left(const ConstMatrix& a, const Buffer& memory) const {
  return packs ? pack_left(a, memory.data()) : Factor{a};
}

Factor AttentionScratch::transposed(const Factor& a, const Buffer& memory) const {
  return packs_serve_transposed() ? a.transposed() : left(a.matrix.transposed(), memory);
}

Factor AttentionScratch::left_part(const ConstMatrix& a, bool transposed, int64_t first,
                                   int64_t count, const Buffer& memory) const {
  ConstMatrix factor = transposed ? a.transposed() : a;
  if (!packs) return {factor};
  return transposed ? pack_left_part(factor, memory.data(), 0, a.columns, first, count)
                    : pack_left_part(factor, memory.data(), first, count, 0, a.columns);
}

BlockQueries::BlockQueries(const AttentionBlock& block, const ScoreFactors* factors,
                           const AttentionScratch& scratch) {
  const RelativeAttention& a = block.problem.a;
  ConstMatrix q = block.queries(a.query);
  auto with = [&](const Tensor& bias, const Buffer& buffer) {
    if (!bias.defined()) return q;
    Matrix sum = block.rows_in(buffer, q.columns);
    const Scalar* added = bias.data() + block.h * bias.layout().strides[0];
    simd::add_rows(q, {added, block.rows, q.columns, 0, 1}, sum);
    return ConstMatrix(sum);
  };
  content = scratch.left(with(a.content_bias, scratch.content_query), scratch.content_panels);
  position = content;
  if (meets_positions(a))
    position = scratch.left(with(a.position_bias, scratch.position_query), scratch.position_panels);
  if (factors && a.clipped_keys.defined()) {  // (q_i + position_bias)·clipped_keys[c]
    Matrix scores = block.rows_in(scratch.clipped_scores, row_count(a.clipped_keys));
    tile_product(*a.factor, position, factors->clipped_keys.of(block), 0, scores);
    clipped_scores = scores;
  }
}

TileScores::TileScores(const AttentionTile& its_tile, const ScoreFactors& factors,
                       const BlockQueries& its_queries, const AttentionScratch& scratch)
    : tile(its_tile),
      queries(its_queries),
      keys(factors.keys.of(tile).block(0, scratch.D, tile.key_begin, tile.keys)) {
  const RelativeAttention& a = tile.problem.a;
  ShiftedScores scores(scratch.scores, tile);
  by_key = scores.by_key;
  if (a.position_scores.defined()) {  // position_scores[δ]
    start_with_scores(tile, scores.by_distance);
    begun = 1;
  }
  if (a.position_rows.defined()) {  // (q_i + position_bias)·position_rows[δ]
    Factor rows =
        factors.position_rows.of(tile).block(0, scratch.D, tile.table_begin, tile.distances);
    tile_product(*a.factor, queries.position, rows, begun, scores.by_distance, {}, tile.inside);
    begun = 1;
  }
  if (a.key_scores.defined()) {
    add_key_scores(tile, begun, by_key);
    begun = 1;
  }
  if (begun == 0 && (a.clipped_keys.defined() || a.position_queries.defined())) {
    clear_matrix(by_key);
    begun = 1;
  }
  if (a.clipped_keys.defined()) add_clipped(queries.clipped_scores, tile, by_key);
  if (a.position_queries.defined())  // k_j·position_queries[δ]
    for_key_parts(tile, a.position_queries, scratch.key_part, [&](const KeyPart& part) {
      const int64_t group = tile.problem.group(tile.h, a.key.size(1));
      ConstMatrix k =
          rows_of_head(a.key, tile.b, group).rows_from(tile.key_begin + part.begin, part.keys);
      tile_product(*a.factor, scratch.left(k, scratch.panels),
                   factors.position_queries.of(tile).block(0, scratch.D, part.table_begin,
                                                           part.by_distance.columns),
                   0, part.by_distance, {}, part.inside(tile));
      add_matrix(ConstMatrix(part.by_query).transposed(),
                 by_key.columns_from(part.begin, part.keys));
    });
}

ScoreRow score_row(const AttentionTile& tile, int64_t i) {
  const AttentionProblem& p = tile.problem;
  const Interval& seen = tile.seen[i];
  return {tile.b,
          tile.h,
          p.K - p.T + tile.first + i,
          tile.key_begin + seen.begin,
          seen.size(),
          parameters_of_head(p.score_parameters, tile.h)};
}

void TileScores::finish(int64_t first, int64_t count) const {
  const RelativeAttention& a = tile.problem.a;
  // (q_i + content_bias)·k_j
  tile_product(*a.factor, queries.content.rows_from(first, count), keys, begun,
               by_key.rows_from(first, count), {}, tile.visible.rows_from(first));
  for (int64_t i = first; a.score_function && i < first + count; ++i) {
    const int64_t begin = tile.seen[i].begin;
    a.score_function->forward(score_row(tile, i), &by_key.at(i, begin),
                              slopes.data ? &slopes.at(i, begin) : nullptr);
  }
  if (a.visibility.has_masks() || a.visibility.sight.always)
    for (int64_t i = first; i < first + count; ++i) hide(tile, i, tile.seen[i], &by_key.at(i, 0));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
