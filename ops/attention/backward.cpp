// With dp_ij = dy_i·(v_j + clipped_values[c]), the other gradients follow from that of the scores,
//
//     ds_ij = factor · p_ij (dp_ij - Σ_m p_im dp_im)
//
//     dq_i = Σ_j ds_ij (k_j + position_rows[δ] + clipped_keys[c])
//     dk_j = Σ_i ds_ij (q_i + content_bias)
//     dv_j = Σ_i p_ij dy_i
//     dposition_rows[δ] = Σ ds_ij (q_i + position_bias) over the pairs at distance δ
//
// and likewise for position_scores, the clipped tables and the biases.
//
// ds by key, read by distance, is the gradient of the padded product: the shift costs nothing here
// either. A task walks some blocks of one head in order and has sums of its own for what the blocks
// share (keys, values, tables). The sums of all tasks are added up afterwards, in a fixed tree.

#include <algorithm>
#include <array>

#include "core/accumulate.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "ops/attention/block.h"
#include "ops/shape.h"
#include "ops/softmax_row.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The gradient of one input, as a matrix for each task.
class TaskGradient {
 public:
  /// Sets up the gradient of `input` by head, [H or 1, rows, columns] or [B, H, rows, columns]; an
  /// undefined input has none.
  TaskGradient(const Tensor& input, int64_t strips, const AttentionSizes& sizes) {
    if (!input.requires_gradient()) return;
    target_ = expand(input, {strips, sizes.B, sizes.H, input.size(-2), input.size(-1)});
    sums_ = Tensor::empty(target_.shape());
    data_ = sums_.mutable_data();
  }

  bool wanted() const { return sums_.defined(); }

  /// Returns a task's matrix; its data are null when nobody wants the gradient.
  Matrix of(int64_t task) const {
    if (!wanted()) return {};
    int64_t rows = sums_.size(-2), columns = sums_.size(-1);
    return Matrix::row_major(data_ + task * rows * columns, rows, columns);
  }

  void clear(int64_t task) const {
    if (wanted()) std::fill_n(of(task).data, sums_.size(-2) * sums_.size(-1), Scalar{0});
  }

  void deliver() const {
    if (wanted()) accumulate(target_.gradient_sink(), sums_);
  }

 private:
  Tensor target_, sums_;  // [strips, B, H, rows, columns]
  Scalar* data_ = nullptr;
};

/// Returns a table [n, H or 1, D] by head, and a bias [H, D] as a table of one row.
Tensor table_by_head(const Tensor& x) { return x.defined() ? transpose(x, 0, 1) : x; }
Tensor bias_by_head(const Tensor& x) { return x.defined() ? unsqueeze(x, 1) : x; }

struct Gradients {
  TaskGradient query, key, value, content_bias, position_bias, position_rows, position_scores,
      clipped_keys, clipped_values;

  Gradients(const RelativeAttention& a, const AttentionSizes& sizes, int64_t strips)
      : query(a.query, 1, sizes),
        key(a.key, strips, sizes),
        value(a.value, strips, sizes),
        content_bias(bias_by_head(a.content_bias), strips, sizes),
        position_bias(bias_by_head(a.position_bias), strips, sizes),
        position_rows(table_by_head(a.position_rows), strips, sizes),
        position_scores(bias_by_head(table_by_head(a.position_scores)), strips, sizes),
        clipped_keys(table_by_head(a.clipped_keys), strips, sizes),
        clipped_values(table_by_head(a.clipped_values), strips, sizes) {}

  /// The gradients that the tasks share in parts; the query's rows are written once each.
  auto shared() const {
    return std::array{&key,           &value,           &content_bias, &position_bias,
                      &position_rows, &position_scores, &clipped_keys, &clipped_values};
  }
};

/// sums += Σ_i x_i
void add_rows(const ConstMatrix& x, Scalar* sums) {
  for (int64_t i = 0; i < x.rows; ++i)
    simd::axpby(1, x.data + i * x.row_stride, 1, sums, x.columns);
}

/// One block of one task.
struct BackwardBlock {
  const RelativeAttention& a;
  const AttentionSizes& sizes;
  const AttentionBlock& block;
  const AttentionScratch& scratch;
  const AttentionRecord& record;
  const Gradients& gradients;
  int64_t task;
  BlockQueries queries{a, block, scratch};

  void run(const ConstMatrix& dy) const;
  ConstMatrix probabilities() const;
  void probability_gradients(const ConstMatrix& dy, const Matrix& dp) const;
  void value_gradients(const ConstMatrix& dropped, const ConstMatrix& dy) const;
  void content_gradients(const Matrix& ds, const Matrix& dq) const;
  void position_gradients(const ShiftedScores& ds, const Matrix& dq) const;
  void query_gradients(const Matrix& dq) const;
};

/// Returns p_ij, saved or made again.
ConstMatrix BackwardBlock::probabilities() const {
  int64_t first = (block.b * sizes.H + block.h) * sizes.T + block.first;
  if (record.probabilities.defined())
    return {record.probabilities.data() + first * sizes.K + block.key_begin, block.rows, block.keys,
            sizes.K, 1};
  Matrix p = block_scores(a, sizes, block, queries, scratch);
  for (int64_t i = 0; i < block.rows; ++i) {
    Scalar* row = p.data + i * p.row_stride;
    auto [begin, end] = visible_range(a, sizes, block, i);
    std::fill(row, row + begin, Scalar{0});
    std::fill(row + end, row + block.keys, Scalar{0});
    const Scalar* saved = record.rows.data() + 2 * (first + i);
    softmax_row_again({saved[0], saved[1]}, row + begin, end - begin);
  }
  return p;
}

/// dp_ij = dy_i·(v_j + clipped_values[c])
void BackwardBlock::probability_gradients(const ConstMatrix& dy, const Matrix& dp) const {
  Scalar begun = 0;
  if (a.clipped_values.defined()) {
    ConstMatrix table = table_of_head(a.clipped_values, block.h);
    Matrix by_clipped = Matrix::row_major(scratch.clipped.data(), block.rows, table.rows);
    gemm(1, dy, table.transposed(), 0, by_clipped);
    std::fill_n(dp.data, dp.rows * dp.row_stride, Scalar{0});
    add_clipped(by_clipped, sizes, block, dp);
    begun = 1;
  }
  gemm(1, dy, block.keys_of(a.value).transposed(), begun, dp);
}

/// dv_j += Σ_i p_ij dy_i, and the gradient of clipped_values.
void BackwardBlock::value_gradients(const ConstMatrix& p, const ConstMatrix& dy) const {
  if (gradients.value.wanted())
    gemm(1, p.transposed(), dy, 1, gradients.value.of(task).rows_from(block.key_begin, block.keys));
  if (gradients.clipped_values.wanted()) {
    Matrix db = gradients.clipped_values.of(task);
    gemm(1, sum_clipped(p, db.rows, sizes, block, scratch).transposed(), dy, 1, db);
  }
}

/// dq_i = Σ_j ds_ij k_j, dk_j += Σ_i ds_ij (q_i + content_bias), and the gradient of content_bias.
void BackwardBlock::content_gradients(const Matrix& ds, const Matrix& dq) const {
  gemm(1, ds, block.keys_of(a.key), 0, dq);
  if (gradients.key.wanted())
    gemm(1, ds.transposed(), queries.content, 1,
         gradients.key.of(task).rows_from(block.key_begin, block.keys));
  if (gradients.content_bias.wanted()) add_rows(dq, gradients.content_bias.of(task).data);
}

/// dq_i = Σ_δ ds_iδ position_rows[δ] + Σ_c ds_ic clipped_keys[c],
/// dposition_rows[δ] += Σ_i ds_iδ (q_i + position_bias), and the gradients of position_scores,
/// clipped_keys and position_bias.
void BackwardBlock::position_gradients(const ShiftedScores& ds, const Matrix& dq) const {
  Scalar begun = 0;
  if (a.position_rows.defined()) {
    gemm(1, ds.by_distance, block.distance_rows(a.position_rows), 0, dq);
    if (gradients.position_rows.wanted())
      gemm(1, ds.by_distance.transposed(), queries.position, 1,
           gradients.position_rows.of(task).rows_from(block.table_begin, block.distances));
    begun = 1;
  }
  if (gradients.position_scores.wanted())
    add_rows(ds.by_distance, gradients.position_scores.of(task).data + block.table_begin);
  if (a.clipped_keys.defined()) {
    ConstMatrix table = table_of_head(a.clipped_keys, block.h);
    Matrix by_clipped = sum_clipped(ds.by_key, table.rows, sizes, block, scratch);
    gemm(1, by_clipped, table, begun, dq);
    if (gradients.clipped_keys.wanted())
      gemm(1, by_clipped.transposed(), queries.position, 1, gradients.clipped_keys.of(task));
  }
  if (gradients.position_bias.wanted()) add_rows(dq, gradients.position_bias.of(task).data);
}

void BackwardBlock::query_gradients(const Matrix& dq) const {
  if (gradients.query.wanted())
    std::copy_n(dq.data, dq.rows * dq.columns,
                gradients.query.of(block.b * sizes.H + block.h).data + block.first * sizes.D);
}

void BackwardBlock::run(const ConstMatrix& dy) const {
  Matrix dq = Matrix::row_major(scratch.content_slope.data(), block.rows, sizes.D);
  if (block.keys == 0) {
    std::fill_n(dq.data, dq.rows * dq.columns, Scalar{0});
    return query_gradients(dq);
  }
  ConstMatrix p = probabilities();
  ShiftedScores ds(scratch.gradients, block);
  probability_gradients(dy, ds.by_key);
  ConstMatrix dropped = p;
  if (a.dropout.rate > 0) {
    Matrix kept = Matrix::row_major(scratch.dropped.data(), block.rows, block.keys);
    drop_block(a, sizes, block, p, kept, ds.by_key);
    dropped = kept;
  }
  value_gradients(dropped, dy);
  for (int64_t i = 0; i < block.rows; ++i) {
    Scalar* row = ds.by_key.data + i * ds.by_key.row_stride;
    simd::softmax_gradient(p.data + i * p.row_stride, row, *a.factor, 0, row, block.keys);
  }
  content_gradients(ds.by_key, dq);
  if (a.position_rows.defined() || a.position_scores.defined() || a.clipped_keys.defined()) {
    ds.clear_rest();
    Matrix of_position = Matrix::row_major(scratch.position_slope.data(), block.rows, sizes.D);
    position_gradients(ds, of_position);
    if (a.position_rows.defined() || a.clipped_keys.defined())
      simd::axpby(1, of_position.data, 1, dq.data, block.rows * sizes.D);
  }
  query_gradients(dq);
}

}  // namespace

void attention_backward(const RelativeAttention& a, const AttentionRecord& record,
                        const Tensor& gradient) {
  AttentionSizes sizes(a);
  Tensor dy = gradient.layout().strides[-1] == 1 ? gradient : contiguous(gradient);
  int64_t heads = sizes.B * sizes.H, strips = sizes.strips(), blocks = sizes.blocks();
  Gradients gradients(a, sizes, strips);
  parallel_ranges(heads * strips, sizes.grain(blocks / strips), [&](int64_t begin, int64_t end) {
    AttentionScratch scratch(a, sizes, true);
    for (int64_t task = begin; task < end; ++task) {
      for (const TaskGradient* shared : gradients.shared()) shared->clear(task);
      for (int64_t number = task / heads; number < blocks; number += strips) {
        AttentionBlock block(a, sizes, task % heads, number);
        BackwardBlock{a, sizes, block, scratch, record, gradients, task}.run(block.queries(dy));
      }
    }
  });
  gradients.query.deliver();
  for (const TaskGradient* shared : gradients.shared()) shared->deliver();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
