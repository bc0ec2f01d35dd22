#include "ops/attention/block.h"

#include <algorithm>
#include <limits>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the rows of head h of batch member b of a tensor [B, H, rows, D].
ConstMatrix head_of(const Tensor& x, int64_t b, int64_t h) {
  const Dims& strides = x.layout().strides;
  return {x.data() + b * strides[0] + h * strides[1], x.size(2), x.size(3), strides[2], strides[3]};
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Sets every row of `by_distance` to factor · position_scores[δ], from which each key's score
/// begins.
void start_with_scores(const RelativeAttention& a, const AttentionBlock& block,
                       const Matrix& by_distance) {
  const Dims& strides = a.position_scores.layout().strides;
  const Scalar* s =
      a.position_scores.data() + block.table_begin * strides[0] + block.h * strides[1];
  for (int64_t n = 0; n < block.distances; ++n) by_distance.data[n] = *a.factor * s[n * strides[0]];
  for (int64_t i = 1; i < block.rows; ++i)
    std::copy_n(by_distance.data, block.distances, by_distance.data + i * by_distance.row_stride);
}

/// The clipped distances of one row: keys before `near` use row 0 of the table, keys from `far` on
/// its last row, and key j between them row j + shift.
struct ClippedRow {
  int64_t near, far, shift;

  ClippedRow(int64_t k, const AttentionSizes& sizes, const AttentionBlock& block, int64_t row) {
    int64_t first = block.key_begin - (sizes.K - sizes.T + block.first + row);  // -δ of key 0
    near = std::clamp<int64_t>(-first - k, 0, block.keys);
    far = std::clamp<int64_t>(-first + k + 1, 0, block.keys);
    shift = first + k;
  }
};

void hide(const RelativeAttention& a, const AttentionBlock& block, int64_t row,
          Visibility::Range range, Scalar* scores) {
  constexpr Scalar hidden = -std::numeric_limits<Scalar>::infinity();
  for (const uint8_t* mask :
       {a.visibility.padding_row(block.b), a.visibility.hidden_row(block.b, block.first + row)})
    if (mask)
      for (int64_t j = range.begin; j < range.end; ++j)
        scores[j] = mask[block.key_begin + j] ? hidden : scores[j];
}

}  // namespace

AttentionSizes::AttentionSizes(const RelativeAttention& a)
    : B(a.query.size(0)),
      H(a.query.size(1)),
      T(a.query.size(2)),
      K(a.key.size(2)),
      D(a.query.size(3)) {}

int64_t AttentionSizes::block_rows() const {
  // Short blocks compute less above the causal diagonal, long ones make better products. 16 to 128
  // rows were tried on sequences of 64 to 4096 tokens: 32 are the fastest up to 256, 64 at 1024.
  // Behind a long memory there is little above the diagonal, and 128 pack the keys less often.
  int64_t rows = K < 512 ? 32 : K < 4 * T ? 64 : 128;
  return std::clamp<int64_t>(T, 1, rows);
}

int64_t AttentionSizes::blocks() const { return divide_up(T, block_rows()); }

int64_t AttentionSizes::strips() const {
  constexpr int64_t enough_tasks = 16;
  return std::clamp<int64_t>(divide_up(enough_tasks, std::max<int64_t>(B * H, 1)), 1,
                             std::max<int64_t>(blocks(), 1));
}

int64_t AttentionSizes::grain(int64_t blocks_of_a_task) const {
  int64_t products = 2 * blocks_of_a_task * block_rows() * K * D;
  return divide_up(static_cast<int64_t>(worthwhile_products), std::max<int64_t>(products, 1));
}

bool AttentionSizes::keeps_probabilities() const {
  // Keeping them is a seventh to a quarter faster at any length, but costs as much memory as the
  // scores of all pairs: at 512 keys that is 8 times the queries of heads of 64.
  return K <= 512;
}

AttentionBlock::AttentionBlock(const RelativeAttention& a, const AttentionSizes& sizes,
                               int64_t head, int64_t number)
    : b(head / sizes.H), h(head % sizes.H) {
  first = number * sizes.block_rows();
  rows = std::min(sizes.block_rows(), sizes.T - first);
  key_begin = std::clamp<int64_t>(a.visibility.range(first, sizes.T, sizes.K).begin, 0, sizes.K);
  int64_t key_end = a.visibility.range(first + rows - 1, sizes.T, sizes.K).end;
  keys = std::clamp<int64_t>(key_end, key_begin, sizes.K) - key_begin;
  const Tensor& table = a.position_rows.defined() ? a.position_rows : a.position_scores;
  table_begin = sizes.T - first - rows + key_begin;
  distances = keys;
  if (table.defined() && keys > 0)
    distances = std::min(keys + rows - 1, table.size(0) - table_begin);
}

ConstMatrix AttentionBlock::queries(const Tensor& x) const {
  return head_of(x, b, h).rows_from(first, rows);
}

ConstMatrix AttentionBlock::keys_of(const Tensor& x) const {
  return head_of(x, b, h).rows_from(key_begin, keys);
}

ConstMatrix AttentionBlock::distance_rows(const Tensor& table) const {
  return table_of_head(table, h).rows_from(table_begin, distances);
}

ConstMatrix table_of_head(const Tensor& table, int64_t h) {
  const Dims& strides = table.layout().strides;
  int64_t offset = table.size(1) == 1 ? 0 : h * strides[1];
  return {table.data() + offset, table.size(0), table.size(2), strides[0], strides[2]};
}

ShiftedScores::ShiftedScores(const Buffer& buffer, const AttentionBlock& block)
    : by_distance{buffer.data() + 1, block.rows, block.distances, block.distances + 1, 1},
      by_key{buffer.data() + block.rows, block.rows, block.keys, block.distances, 1} {}

void ShiftedScores::clear_rest() const {
  int64_t rest = by_key.row_stride - by_key.columns;
  std::fill_n(by_distance.data - 1, by_key.rows, Scalar{0});
  for (int64_t i = 0; i < by_key.rows; ++i)
    std::fill_n(by_key.data + i * by_key.row_stride + by_key.columns, rest, Scalar{0});
}

AttentionScratch::AttentionScratch(const RelativeAttention& a, const AttentionSizes& sizes,
                                   bool backward)
    : scores(sizes.block_rows() * (sizes.K + sizes.block_rows())),
      gradients(backward ? scores.count() : 0),
      dropped(backward && a.dropout.rate > 0 ? sizes.block_rows() * sizes.K : 0),
      content_query(a.content_bias.defined() ? sizes.block_rows() * sizes.D : 0),
      position_query(a.position_bias.defined() ? sizes.block_rows() * sizes.D : 0),
      content_slope(backward ? sizes.block_rows() * sizes.D : 0),
      position_slope(backward ? sizes.block_rows() * sizes.D : 0),
      clipped([&] {
        auto width = [](const Tensor& table) { return table.defined() ? table.size(0) : 0; };
        return sizes.block_rows() * std::max(width(a.clipped_keys), width(a.clipped_values));
      }()) {}

BlockQueries::BlockQueries(const RelativeAttention& a, const AttentionBlock& block,
                           const AttentionScratch& scratch)
    : content(block.queries(a.query)), position(content) {
  ConstMatrix q = content;
  auto with = [&](const Tensor& bias, const Buffer& buffer) {
    if (!bias.defined()) return q;
    Matrix sum = Matrix::row_major(buffer.data(), block.rows, q.columns);
    const Scalar* added = bias.data() + block.h * bias.layout().strides[0];
    for (int64_t i = 0; i < block.rows; ++i)
      simd::zip(simd::Binary::add, q.data + i * q.row_stride, added, sum.data + i * sum.row_stride,
                q.columns);
    return ConstMatrix(sum);
  };
  content = with(a.content_bias, scratch.content_query);
  position = with(a.position_bias, scratch.position_query);
}

Matrix block_scores(const RelativeAttention& a, const AttentionSizes& sizes,
                    const AttentionBlock& block, const BlockQueries& queries,
                    const AttentionScratch& scratch) {
  ShiftedScores scores(scratch.scores, block);
  Scalar begun = 0;
  if (a.position_scores.defined()) {  // position_scores[δ]
    start_with_scores(a, block, scores.by_distance);
    begun = 1;
  }
  if (a.position_rows.defined()) {  // (q_i + position_bias)·position_rows[δ]
    gemm(*a.factor, queries.position, block.distance_rows(a.position_rows).transposed(), begun,
         scores.by_distance);
    begun = 1;
  }
  if (a.clipped_keys.defined()) {  // (q_i + position_bias)·clipped_keys[c]
    ConstMatrix table = table_of_head(a.clipped_keys, block.h);
    Matrix by_clipped = Matrix::row_major(scratch.clipped.data(), block.rows, table.rows);
    gemm(*a.factor, queries.position, table.transposed(), 0, by_clipped);
    if (begun == 0) std::fill_n(scores.by_key.data, block.rows * block.distances, Scalar{0});
    add_clipped(by_clipped, sizes, block, scores.by_key);
    begun = 1;
  }
  // (q_i + content_bias)·k_j
  gemm(*a.factor, queries.content, block.keys_of(a.key).transposed(), begun, scores.by_key);
  if (a.visibility.has_masks())
    for (int64_t i = 0; i < block.rows; ++i)
      hide(a, block, i, visible_range(a, sizes, block, i),
           scores.by_key.data + i * scores.by_key.row_stride);
  return scores.by_key;
}

Visibility::Range visible_range(const RelativeAttention& a, const AttentionSizes& sizes,
                                const AttentionBlock& block, int64_t row) {
  auto [begin, end] = a.visibility.range(block.first + row, sizes.T, sizes.K);
  begin = std::clamp<int64_t>(begin - block.key_begin, 0, block.keys);
  return {begin, std::clamp<int64_t>(end - block.key_begin, begin, block.keys)};
}

void add_clipped(const ConstMatrix& by_clipped, const AttentionSizes& sizes,
                 const AttentionBlock& block, const Matrix& scores) {
  for (int64_t i = 0; i < block.rows; ++i) {
    ClippedRow clipped(by_clipped.columns / 2, sizes, block, i);
    const Scalar* in = by_clipped.data + i * by_clipped.row_stride;
    Scalar* out = scores.data + i * scores.row_stride;
    for (int64_t j = 0; j < clipped.near; ++j) out[j] += in[0];
    for (int64_t j = clipped.near; j < clipped.far; ++j) out[j] += in[j + clipped.shift];
    for (int64_t j = clipped.far; j < block.keys; ++j) out[j] += in[by_clipped.columns - 1];
  }
}

Matrix sum_clipped(const ConstMatrix& x, int64_t buckets, const AttentionSizes& sizes,
                   const AttentionBlock& block, const AttentionScratch& scratch) {
  Matrix sums = Matrix::row_major(scratch.clipped.data(), block.rows, buckets);
  for (int64_t i = 0; i < block.rows; ++i) {
    ClippedRow clipped(buckets / 2, sizes, block, i);
    const Scalar* in = x.data + i * x.row_stride;
    Scalar* out = sums.data + i * sums.row_stride;
    std::fill_n(out, buckets, Scalar{0});
    std::copy(in + clipped.near, in + clipped.far, out + clipped.near + clipped.shift);
    out[0] += simd::sum(in, clipped.near);
    out[buckets - 1] += simd::sum(in + clipped.far, block.keys - clipped.far);
  }
  return sums;
}

void drop_block(const RelativeAttention& a, const AttentionSizes& sizes,
                const AttentionBlock& block, const ConstMatrix& p, const Matrix& dropped,
                const Matrix& gradients) {
  Buffer factors(block.keys);
  for (int64_t i = 0; i < block.rows; ++i) {
    int64_t b = a.dropout.first_row + block.b;
    int64_t row = (b * sizes.H + block.h) * sizes.T + block.first + i;
    a.dropout.factors(row * sizes.K + block.key_begin, block.keys, factors.data());
    auto multiply = [&](const Scalar* x, Scalar* y) {
      simd::zip(simd::Binary::multiply, x, factors.data(), y, block.keys);
    };
    multiply(p.data + i * p.row_stride, dropped.data + i * dropped.row_stride);
    Scalar* gradient = gradients.data ? gradients.data + i * gradients.row_stride : nullptr;
    if (gradient) multiply(gradient, gradient);
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
