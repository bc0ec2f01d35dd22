#include "ops/attention/tile.h"

#include <cstring>
#include <limits>
#include <utility>

#include "core/machine/blas.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "ops/shape.h"

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

/// The clipped distances of one row: keys before `near` use row 0 of the table, keys from `far` on
/// its last row, and key j between them row j + shift.
struct ClippedRow {
  int64_t near, far, shift;

  ClippedRow(int64_t k, const AttentionTile& tile, int64_t row) {
    int64_t position = tile.problem.K - tile.problem.T + tile.first + row;
    int64_t first = tile.key_begin - position;  // -δ of key 0
    near = std::clamp<int64_t>(-first - k, 0, tile.keys);
    far = std::clamp<int64_t>(-first + k + 1, 0, tile.keys);
    shift = first + k;
  }
};

void hide(const AttentionTile& tile, int64_t row, Visibility::Range range, Scalar* scores) {
  constexpr Scalar hidden = -std::numeric_limits<Scalar>::infinity();
  const Visibility& visibility = tile.problem.a.visibility;
  for (const uint8_t* mask :
       {visibility.padding_row(tile.b), visibility.hidden_row(tile.b, tile.first + row)})
    if (mask)
      for (int64_t j = range.begin; j < range.end; ++j)
        scores[j] = mask[tile.key_begin + j] ? hidden : scores[j];
}

/// Whether one mask or the other, which may be null, hides each of these keys.
bool hide_all(const uint8_t* a, const uint8_t* b, int64_t begin, int64_t end) {
  if (!a) std::swap(a, b);
  for (int64_t j = begin; j < end; ++j) {
    const void* seen = std::memchr(a + j, 0, static_cast<size_t>(end - j));
    if (!seen) return true;
    j = static_cast<const uint8_t*>(seen) - a;
    if (!b || !b[j]) return false;
  }
  return true;
}

/// Returns the rows of head h of batch member b of a tensor [B or 1, H or 1, rows, D].
ConstMatrix rows_of_head(const Tensor& x, int64_t b, int64_t h) {
  const Dims& strides = x.layout().strides;
  int64_t offset = (x.size(0) == 1 ? 0 : b * strides[0]) + (x.size(1) == 1 ? 0 : h * strides[1]);
  return {x.data() + offset, x.size(2), x.size(3), strides[2], strides[3]};
}

}  // namespace

CachedVector<Visibility::Range> AttentionProblem::ranges() const {
  CachedVector<Visibility::Range> all(static_cast<size_t>(T));
  for (int64_t i = 0; i < T; ++i) all[static_cast<size_t>(i)] = a.visibility.range(i, T, K);
  return all;
}

// Panels of 12 rows and 32 columns fill 96 and 512. The scores and gradients of such a tile take
// half of a second cache of 1 MiB. With 192 queries or with 768 keys nothing is faster; with 384
// keys all takes 3 % longer, since each row of a tile and each key's distances cost more.
int64_t AttentionProblem::block_rows() const { return std::clamp<int64_t>(T, 1, most_rows); }

int64_t AttentionProblem::tile_keys() const { return packs() ? 512 : 2048; }

int64_t AttentionProblem::blocks() const { return divide_up(T, block_rows()); }

int64_t AttentionProblem::strips() const {
  constexpr int64_t enough_tasks = 8;  // the sums of each take as long to add up as a block or two
  return std::clamp<int64_t>(divide_up(enough_tasks, std::max<int64_t>(B * H, 1)), 1,
                             std::max<int64_t>(blocks(), 1));
}

int64_t AttentionProblem::grain(int64_t blocks_of_a_task) const {
  int64_t products = 2 * blocks_of_a_task * block_rows() * K * D;
  return divide_up(static_cast<int64_t>(worthwhile_products), std::max<int64_t>(products, 1));
}

bool AttentionProblem::keeps_exponentials() const {
  // With them the backward pass takes a fifth less time, but they are as many as the pairs.
  return K <= tile_keys() && K <= 512;
}

AttentionBlock::AttentionBlock(const AttentionProblem& its_problem, int64_t head,
                               int64_t its_number)
    : problem(its_problem),
      b(head / problem.H),
      h(head % problem.H),
      number(its_number),
      key_begin(problem.K),
      key_end(0) {
  int64_t end = problem.T - (problem.blocks() - 1 - number) * problem.block_rows();
  first = std::max<int64_t>(end - problem.block_rows(), 0);
  rows = end - first;
  for (int64_t i = first; i < end; ++i) {
    const Visibility::Range& range = problem.seen[static_cast<size_t>(i)];
    key_begin = std::min(key_begin, range.begin);
    key_end = std::max(key_end, std::min(range.end, problem.K));
  }
  key_begin = key_begin / part_columns * part_columns;
}

ConstMatrix AttentionBlock::queries(const Tensor& x) const {
  return rows_of_head(x, b, h).rows_from(first, rows);
}

AttentionTile::AttentionTile(const AttentionBlock& block, int64_t begin)
    : AttentionBlock(block), keys(std::min(problem.tile_keys(), key_end - begin)) {
  const RelativeAttention& a = problem.a;
  key_begin = begin;
  table_begin = problem.T - first - rows + key_begin;
  distances = keys + rows - 1;
  for (const Tensor* table : {&a.position_rows, &a.position_scores})
    if (table->defined()) distances = std::min(distances, table->size(0) - table_begin);
  inside = {rows - 1, rows + keys - 2, true};
  visible = {keys, -rows};
  for (int64_t i = 0; i < rows; ++i) {
    Visibility::Range& range = seen[static_cast<size_t>(i)];
    range = problem.seen[static_cast<size_t>(first + i)];
    range.begin = std::clamp<int64_t>(range.begin - key_begin, 0, keys);
    range.end = std::clamp<int64_t>(range.end - key_begin, range.begin, keys);
    if (range.begin == range.end) continue;
    visible.lowest = std::min(visible.lowest, range.begin - i);
    visible.highest = std::max(visible.highest, range.end - 1 - i);
  }
}

bool AttentionTile::is_masked() const {
  const Visibility& visibility = problem.a.visibility;
  if (!visibility.has_masks()) return false;
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t *pads = visibility.padding_row(b), *hides = visibility.hidden_row(b, first + i);
    auto [begin, end] = seen[static_cast<size_t>(i)];
    if (!hide_all(pads, hides, key_begin + begin, key_begin + end)) return false;
  }
  return true;
}

Matrix AttentionTile::part_of(const Tensor& exponentials) const {
  int64_t H = exponentials.size(1), T = exponentials.size(2), K = exponentials.size(3);
  Scalar* values = exponentials.mutable_data() + (((b * H) + h) * T + first) * K + key_begin;
  return {values, rows, keys, K, 1};
}

TileList::TileList(const AttentionProblem& problem)
    : begins_((problem.a.visibility.has_masks() ? problem.B : 1) * problem.blocks()) {
  parallel_for(std::ssize(begins_), [&](int64_t n) {
    AttentionBlock block(problem, n / problem.blocks() * problem.H, n % problem.blocks());
    for (int64_t begin = block.key_begin; begin < block.key_end; begin += problem.tile_keys())
      if (!AttentionTile(block, begin).is_masked()) begins_[n].push_back(begin);
  });
}

HeadFactors::HeadFactors(const Tensor& x, Side side, const AttentionProblem& problem, bool packs)
    : x_(x), side_(side) {
  if (!x.defined()) return;
  batches_ = x.size(0), heads_ = x.size(1);
  matrices_.reserve(static_cast<size_t>(batches_ * heads_));
  for (int64_t n = 0; n < batches_ * heads_; ++n) matrices_.emplace_back(factor(n), false);
  packed_by_task_ = packs && problem.tasks_are_heads() && batches_ > 1;
  if (packs && !packed_by_task_)
    parallel_for(batches_ * heads_, [&](int64_t n) { matrices_[n] = {factor(n), true}; });
}

ConstMatrix HeadFactors::factor(int64_t head) const {
  ConstMatrix rows = rows_of_head(x_, head / heads_, head % heads_);
  return side_ == Side::rows ? rows : rows.transposed();
}

void HeadFactors::replace(int64_t head, bool packs) {
  if (packed_by_task_) matrices_[head] = {factor(head), packs};
}

const PackedFactor& HeadFactors::of(const AttentionBlock& block) const {
  return matrices_[(batches_ == 1 ? 0 : block.b * heads_) + (heads_ == 1 ? 0 : block.h)].factor;
}

ScoreFactors::ScoreFactors(const AttentionProblem& problem, bool packs)
    : keys(problem.a.key, HeadFactors::Side::transposed, problem, packs),
      position_rows(table_by_head(problem.a.position_rows), HeadFactors::Side::transposed, problem,
                    packs),
      position_queries(table_by_head(problem.a.position_queries), HeadFactors::Side::transposed,
                       problem, packs) {}

Tensor table_by_head(const Tensor& table) {
  return table.defined() ? unsqueeze(transpose(table, 0, 1), 0) : table;
}

ConstMatrix table_of_head(const Tensor& table, int64_t h) {
  return rows_of_head(table_by_head(table), 0, h);
}

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

LeftFactor AttentionScratch::left(const ConstMatrix& a, const Buffer& memory) const {
  return packs ? pack_left(a, memory.data()) : LeftFactor{a};
}

LeftFactor AttentionScratch::left_part(const ConstMatrix& a, bool transposed, int64_t first,
                                       int64_t count, const Buffer& memory) const {
  ConstMatrix factor = transposed ? a.transposed() : a;
  if (!packs) return {factor};
  return transposed ? pack_left_part(factor, memory.data(), 0, a.columns, first, count)
                    : pack_left_part(factor, memory.data(), first, count, 0, a.columns);
}

BlockQueries::BlockQueries(const AttentionBlock& block, const AttentionScratch& scratch) {
  const RelativeAttention& a = block.problem.a;
  ConstMatrix q = block.queries(a.query);
  auto with = [&](const Tensor& bias, const Buffer& buffer) {
    if (!bias.defined()) return q;
    Matrix sum = Matrix::row_major(buffer.data(), block.rows, q.columns);
    const Scalar* added = bias.data() + block.h * bias.layout().strides[0];
    simd::add_rows(q, {added, block.rows, q.columns, 0, 1}, sum);
    return ConstMatrix(sum);
  };
  content = scratch.left(with(a.content_bias, scratch.content_query), scratch.content_panels);
  position = content;
  if (meets_positions(a))
    position = scratch.left(with(a.position_bias, scratch.position_query), scratch.position_panels);
  if (a.clipped_keys.defined()) {  // (q_i + position_bias)·clipped_keys[c]
    ConstMatrix table = table_of_head(a.clipped_keys, block.h);
    Matrix scores = Matrix::row_major(scratch.clipped_scores.data(), block.rows, table.rows);
    gemm(*a.factor, position.matrix, table.transposed(), 0, scores);
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
    PackedFactor rows =
        factors.position_rows.of(tile).block(0, scratch.D, tile.table_begin, tile.distances);
    tile_product(*a.factor, queries.position, rows, begun, scores.by_distance, {}, tile.inside);
    begun = 1;
  }
  if (begun == 0 && (a.clipped_keys.defined() || a.position_queries.defined())) {
    clear_matrix(by_key);
    begun = 1;
  }
  if (a.clipped_keys.defined()) add_clipped(queries.clipped_scores, tile, by_key);
  if (a.position_queries.defined())  // k_j·position_queries[δ]
    for_key_parts(tile, a.position_queries, scratch.by_key, [&](const KeyPart& part) {
      ConstMatrix k =
          rows_of_head(a.key, tile.b, tile.h).rows_from(tile.key_begin + part.begin, part.keys);
      tile_product(*a.factor, scratch.left(k, scratch.panels),
                   factors.position_queries.of(tile).block(0, scratch.D, part.table_begin,
                                                           part.by_distance.columns),
                   0, part.by_distance, {}, part.inside(tile));
      add_matrix(ConstMatrix(part.by_query).transposed(),
                 by_key.columns_from(part.begin, part.keys));
    });
}

void TileScores::finish(int64_t first, int64_t count) const {
  const RelativeAttention& a = tile.problem.a;
  // (q_i + content_bias)·k_j
  tile_product(*a.factor, queries.content.rows_from(first, count), keys, begun,
               by_key.rows_from(first, count), {}, tile.visible.rows_from(first));
  if (a.visibility.has_masks())
    for (int64_t i = first; i < first + count; ++i)
      hide(tile, i, tile.seen[static_cast<size_t>(i)], &by_key.at(i, 0));
}

void weighted_product(Zeros zeros, const LeftFactor& a, const PackedFactor& b, Scalar beta,
                      const Matrix& c, const Band& of_a) {
  weighted_product(zeros, 1, a.matrix, b.matrix, c, [&](const ConstMatrix& right) {
    if (right.data == b.matrix.data) return tile_product(1, a, b, beta, c, of_a);
    tile_product(1, a, PackedMatrix(right, b.panels != nullptr).factor, beta, c, of_a);
  });
}

void add_clipped(const ConstMatrix& by_clipped, const AttentionTile& tile, const Matrix& scores) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    ClippedRow clipped(by_clipped.columns / 2, tile, i);
    const Scalar* in = by_clipped.data + i * by_clipped.row_stride;
    Scalar* out = scores.data + i * scores.row_stride;
    auto [begin, end] = tile.seen[static_cast<size_t>(i)];
    int64_t near = std::clamp(clipped.near, begin, end), far = std::clamp(clipped.far, near, end);
    for (int64_t j = begin; j < near; ++j) out[j] += in[0];
    for (int64_t j = near; j < far; ++j) out[j] += in[j + clipped.shift];
    for (int64_t j = far; j < end; ++j) out[j] += in[by_clipped.columns - 1];
  }
}

void sum_clipped(const ConstMatrix& x, const AttentionTile& tile, const Matrix& sums) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    ClippedRow clipped(sums.columns / 2, tile, i);
    const Scalar* in = x.data + i * x.row_stride;
    Scalar* out = sums.data + i * sums.row_stride;
    int64_t end = tile.seen[static_cast<size_t>(i)].end;  // behind it all x_ij are 0
    for (int64_t j = clipped.near; j < std::min(clipped.far, end); ++j)
      out[j + clipped.shift] += in[j];
    out[0] += simd::sum(in, clipped.near);
    if (clipped.far < end)
      out[sums.columns - 1] += simd::sum(in + clipped.far, tile.keys - clipped.far);
  }
}

void drop_rows(const AttentionTile& tile, int64_t first, int64_t count, const ConstMatrix& p,
               const Matrix& dropped, const Matrix& gradients) {
  const RelativeAttention& a = tile.problem.a;
  Buffer factors(tile.keys);
  for (int64_t i = first; i < first + count; ++i) {
    auto [begin, end] = tile.seen[static_cast<size_t>(i)];
    int64_t row = a.dropout.first_row * tile.problem.H * tile.problem.T + tile.row_number() + i;
    a.dropout.factors(row * tile.problem.K + tile.key_begin + begin, end - begin, factors.data());
    auto multiply = [&, begin = begin, seen = end - begin](const Scalar* x, Scalar* y) {
      simd::zip(simd::Binary::multiply, x + begin, factors.data(), y + begin, seen);
    };
    clear_outside(dropped, i, begin, end);
    multiply(&p.at(i, 0), &dropped.at(i, 0));
    if (gradients.data) multiply(&gradients.at(i, 0), &gradients.at(i, 0));
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
