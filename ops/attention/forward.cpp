// Computes, block by block as `block.h` draws it,
//
//     score = factor ((q + content_bias) kᵀ + shifted((q + position_bias) position_rowsᵀ) + …)
//     p = softmax(score),   y = p v + …
//
// Each block writes rows of y of its own.

#include <algorithm>

#include "core/machine/parallel.h"
#include "ops/attention/block.h"
#include "ops/softmax_row.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Turns scores into p, in place.
void make_probabilities(const RelativeAttention& a, const AttentionSizes& sizes,
                        const AttentionBlock& block, const Matrix& scores,
                        const AttentionRecord& record) {
  for (int64_t i = 0; i < block.rows; ++i) {
    Scalar* p = scores.data + i * scores.row_stride;
    auto [begin, end] = visible_range(a, sizes, block, i);
    std::fill(p, p + begin, Scalar{0});
    std::fill(p + end, p + block.keys, Scalar{0});
    SoftmaxRow row = softmax_row(p + begin, end - begin);
    int64_t number = (block.b * sizes.H + block.h) * sizes.T + block.first + i;
    if (record.rows.defined()) {
      Scalar* saved = record.rows.mutable_data() + 2 * number;
      saved[0] = row.greatest;
      saved[1] = row.total;
    }
    if (record.probabilities.defined())
      std::copy_n(p, block.keys,
                  record.probabilities.mutable_data() + number * sizes.K + block.key_begin);
  }
}

void clear(const Matrix& x) {
  for (int64_t i = 0; i < x.rows; ++i) std::fill_n(x.data + i * x.row_stride, x.columns, Scalar{0});
}

void forward_block(const RelativeAttention& a, const AttentionSizes& sizes,
                   const AttentionBlock& block, const AttentionScratch& scratch,
                   const AttentionRecord& record, const Matrix& y) {
  if (block.keys == 0) return clear(y);
  BlockQueries queries(a, block, scratch);
  Matrix p = block_scores(a, sizes, block, queries, scratch);  // [rows, keys]
  make_probabilities(a, sizes, block, p, record);
  if (a.dropout.rate > 0) drop_block(a, sizes, block, p, p, {});
  gemm(1, p, block.keys_of(a.value), 0, y);  // Σ_j p_ij v_j
  if (a.clipped_values.defined()) {          // Σ_j p_ij clipped_values[c]
    ConstMatrix table = table_of_head(a.clipped_values, block.h);
    gemm(1, sum_clipped(p, table.rows, sizes, block, scratch), table, 1, y);
  }
}

}  // namespace

void attention_forward(const RelativeAttention& a, const AttentionRecord& record, const Tensor& y) {
  AttentionSizes sizes(a);
  int64_t blocks = sizes.blocks();
  Scalar* data = y.mutable_data();
  parallel_ranges(sizes.B * sizes.H * blocks, sizes.grain(1), [&](int64_t begin, int64_t end) {
    AttentionScratch scratch(a, sizes, false);
    for (int64_t task = begin; task < end; ++task) {
      AttentionBlock block(a, sizes, task / blocks, task % blocks);
      ConstMatrix rows = block.queries(y);
      Matrix into{data + (rows.data - y.data()), rows.rows, rows.columns, rows.row_stride, 1};
      forward_block(a, sizes, block, scratch, record, into);
    }
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
