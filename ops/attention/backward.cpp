// With dp_ij = dy_i·(v_j + clipped_values[c]), the other gradients follow from that of the scores,
//
//     ds_ij = factor · p_ij (dp_ij - Σ_m p_im dp_im)      where Σ_m p_im dp_im = dy_i·y_i
//
//     dq_i = Σ_j ds_ij (k_j + position_rows[δ] + clipped_keys[c])
//     dk_j = Σ_i ds_ij (q_i + content_bias)
//     dv_j = Σ_i p_ij dy_i
//     dposition_rows[δ] = Σ ds_ij (q_i + position_bias) over the pairs at distance δ
//     dposition_queries[δ] = Σ ds_ij k_j, and dk_j += Σ_i ds_ij position_queries[δ]
//
// and likewise for position_scores, the clipped tables and the biases.
//
// A tile has e_ij = total_i p_ij, so each block divides its rows of dy by their totals once, and
// p_ij itself is never made. ds by key, read by distance, is the gradient of the padded product:
// the shift costs nothing here either. A task walks some blocks of one head in order and has sums
// of its own for what the blocks share (keys, values, tables). The sums of all tasks are added up
// afterwards, in a fixed tree.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "core/accumulate.h"
#include "core/machine/blas.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "ops/attention/tile.h"
#include "ops/shape.h"
#include "ops/softmax_row.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// y = x + beta y for a beta of 0 or 1
void add_into(const ConstMatrix& x, const Matrix& y, Scalar beta) {
  beta == 0 ? copy_matrix(x, y) : simd::add_rows(x, y, y);
}

/// Whether two inputs surely have no element in common.
bool are_apart(const Tensor& x, const Tensor& y) {
  return !x.shares_storage(y) || x.layout().is_apart_from(y.layout());
}

/// Whether the task of each head can add to the gradient of x itself, since no task of another head
/// adds to the same elements.
bool adds_in_place(const Tensor& x, const Tensor& y, const Tensor& z, const AttentionProblem& p) {
  const Layout& layout = x.layout();
  return p.strips() == 1 && layout.strides[-1] == 1 && !layout.is_broadcast() &&
         are_apart(x, y) && are_apart(x, z);
}

/// The gradient of one input, as a matrix for each task.
class TaskGradient {
 public:
  /// Sets up the gradient of `input` by head, [H or 1, rows, columns] or [B, H, rows, columns]; an
  /// undefined input has none. `in_place` is whether tasks add to it themselves.
  TaskGradient(const Tensor& input, const AttentionProblem& problem, bool in_place = false) {
    if (!input.requires_gradient()) return;
    target_ =
        expand(input, {problem.strips(), problem.B, problem.H, input.size(-2), input.size(-1)});
    if (in_place) {
      open_ = input.open_gradient();
      own_.resize(static_cast<size_t>(problem.B * problem.H));
    } else {
      sums_ = Tensor::empty(target_.shape());
      data_ = sums_.mutable_data();
    }
  }

  bool wanted() const { return target_.defined(); }

  /// Returns a task's matrix; its data are null when nobody wants the gradient.
  Matrix of(int64_t task) const {
    if (!wanted()) return {};
    int64_t rows = target_.size(-2), columns = target_.size(-1);
    Scalar* data = open_ ? own_[static_cast<size_t>(task)].data() : data_ + task * rows * columns;
    return Matrix::row_major(data, rows, columns);
  }

  /// Takes memory for a task's matrix, and adds that to a gradient in place.
  void begin(int64_t task) {
    if (open_) own_[static_cast<size_t>(task)] = Buffer(target_.size(-2) * target_.size(-1));
  }
  void end(int64_t task) {
    if (!open_) return;
    const Layout& layout = open_.target.layout();
    int64_t H = layout.shape[1];
    Scalar* to = open_.target.mutable_data() + task / H * layout.strides[0] +
                 task % H * layout.strides[1];
    const Matrix sums = of(task);
    add_into(sums, {to, sums.rows, sums.columns, layout.strides[2], 1}, open_.beta);
    own_[static_cast<size_t>(task)] = {};
  }

  bool is_finite(int64_t task) const {
    return !wanted() || SHIFTGRAD_PRECISION::is_finite(of(task));
  }

  void clear(int64_t task) const {
    if (wanted()) clear_matrix(of(task));
  }

  void deliver() const {
    if (wanted() && !open_) accumulate(target_.open_gradient(), sums_);
  }

 private:
  Tensor target_, sums_;  // [strips, B, H, rows, columns]
  Scalar* data_ = nullptr;
  OpenGradient open_{};        // [B, H, rows, columns], in place
  std::vector<Buffer> own_{};  // of each head, while its task runs
};

/// The gradient of the query, whose rows are written by one block each: in place where it is dense.
class QueryGradient {
 public:
  QueryGradient(const Tensor& query, const AttentionProblem& problem)
      : open_(query.open_gradient()) {
    if (!open_) return;
    const Layout& layout = open_.target.layout();
    in_place_ = !layout.is_broadcast() && layout.strides[-1] == 1;
    rows_ = in_place_ ? open_.target : Tensor::empty(query.shape());
    data_ = rows_.mutable_data();
    written_ =
        std::make_unique<bool[]>(static_cast<size_t>(problem.B * problem.H * problem.blocks()));
  }

  /// Adds the rows of a block that has not been written yet. Returns whether they are finite; by
  /// multiplying, they are left alone otherwise.
  bool add(const AttentionBlock& block, const ConstMatrix& dq, Zeros zeros) const {
    bool finite = is_finite(dq);
    if (!open_) return finite;
    int64_t head = block.b * block.problem.H + block.h;
    bool& written = written_[static_cast<size_t>(head * block.problem.blocks() + block.number)];
    if (written || (!finite && zeros == Zeros::multiply)) return finite;
    written = true;
    ConstMatrix rows = block.queries(rows_);
    Scalar* to = data_ + (rows.data - rows_.data());
    add_into(dq, {to, rows.rows, rows.columns, rows.row_stride, 1}, in_place_ ? open_.beta : 0);
    return finite;
  }

  void deliver() const {
    if (!in_place_) accumulate(open_, rows_);
  }

 private:
  OpenGradient open_;
  Tensor rows_;  // [B, H, T, D]
  Scalar* data_ = nullptr;
  bool in_place_ = false;
  std::unique_ptr<bool[]> written_;  // [B, H, blocks]
};

/// Returns a bias [H, D] as a table of one row for each head.
Tensor bias_by_head(const Tensor& x) { return x.defined() ? unsqueeze(x, 1) : x; }

/// Returns scores [n, H] as a table of one row for each head.
Tensor scores_by_head(const Tensor& x) { return x.defined() ? bias_by_head(transpose(x)) : x; }

/// The gradients of all inputs.
struct Gradients {
  const AttentionProblem& problem;
  const RelativeAttention& a = problem.a;
  QueryGradient query{a.query, problem};
  TaskGradient key{a.key, problem, adds_in_place(a.key, a.query, a.value, problem)};
  TaskGradient value{a.value, problem, adds_in_place(a.value, a.query, a.key, problem)};
  TaskGradient content_bias{bias_by_head(a.content_bias), problem};
  TaskGradient position_bias{bias_by_head(a.position_bias), problem};
  TaskGradient position_rows{table_by_head(a.position_rows), problem};
  TaskGradient position_queries{table_by_head(a.position_queries), problem};
  TaskGradient position_scores{scores_by_head(a.position_scores), problem};
  TaskGradient clipped_keys{table_by_head(a.clipped_keys), problem};
  TaskGradient clipped_values{table_by_head(a.clipped_values), problem};

  /// The gradients that the tasks share in parts; the query's rows are written once each.
  auto shared() const {
    return std::array{&key,
                      &value,
                      &content_bias,
                      &position_bias,
                      &position_rows,
                      &position_queries,
                      &position_scores,
                      &clipped_keys,
                      &clipped_values};
  }
};

/// What all tiles share.
struct BackwardFactors {
  const AttentionProblem& problem;
  const Gradients& gradients;
  const RelativeAttention& a = problem.a;
  bool packs = problem.packs();
  ScoreFactors scores{problem, packs && !problem.keeps_exponentials()};
  HeadFactors keys{a.key, HeadFactors::Side::rows, problem, packs};
  HeadFactors values{a.value, HeadFactors::Side::transposed, problem, packs};
  HeadFactors position_rows{table_by_head(a.position_rows), HeadFactors::Side::rows, problem,
                            packs};
  HeadFactors position_queries{table_by_head(a.position_queries), HeadFactors::Side::rows, problem,
                               packs};
};

/// What a thread needs beyond the scratch of the forward pass.
struct BackwardScratch : AttentionScratch {
  /// pᵀ and dsᵀ, as left factors.
  Buffer probability_panels{panels.count()}, gradient_panels{panels.count()};
  /// dy_i / total_i [rows, D], and that as a left factor.
  Buffer scaled{rows * D}, scaled_panels{content_panels.count()};
  /// dq_i [rows, D], from each product.
  Buffer content_slope{rows * D}, position_slope{rows * D};
  /// dy_i / total_i and the queries as right factors.
  Buffer scaled_factor{packs ? right_panel_count(rows, D) : 0};
  Buffer content_factor{scaled_factor.count()}, position_factor{scaled_factor.count()};
  /// [rows, 2m + 1]
  Buffer clipped_gradients{clipped_sums.count()}, clipped_slopes{clipped_scores.count()};
};

/// One block of one task.
struct BackwardBlock {
  const BackwardFactors& factors;
  const BackwardScratch& scratch;
  const AttentionRecord& record;
  const AttentionBlock& block;
  int64_t task;
  Zeros zeros;
  const RelativeAttention& a = factors.a;
  const Gradients& gradients = factors.gradients;
  BlockQueries queries{block, scratch};
  std::array<SoftmaxRow, AttentionScratch::most_rows> rows = {};
  std::array<Scalar, AttentionScratch::most_rows> means = {};  // dy_i·y_i / total_i
  /// [rows, D]
  Matrix scaled = rows_in(scratch.scaled, scratch.D);
  Matrix dq = rows_in(scratch.content_slope, scratch.D);
  Matrix dq_position = rows_in(scratch.position_slope, scratch.D);
  /// [rows, 2m + 1]
  Matrix clipped_gradients = rows_in(scratch.clipped_gradients, row_count(a.clipped_values));
  Matrix clipped_sums = rows_in(scratch.clipped_sums, row_count(a.clipped_values));
  Matrix clipped_slopes = rows_in(scratch.clipped_slopes, row_count(a.clipped_keys));
  LeftFactor scaled_left{};
  PackedFactor scaled_right{}, content_right{}, position_right{};

  void begin(const Tensor& dy) {
    auto right = [&](const ConstMatrix& x, const Buffer& panels) {
      return scratch.packs ? pack_right(x, panels.data()) : PackedFactor{x};
    };
    for (const Matrix* sums : {&dq_position, &clipped_sums, &clipped_slopes}) clear_matrix(*sums);
    scale(block.queries(dy));
    scaled_left = scratch.left(scaled, scratch.scaled_panels);
    scaled_right = right(scaled, scratch.scaled_factor);
    content_right = right(queries.content.matrix, scratch.content_factor);
    position_right = right(queries.position.matrix, scratch.position_factor);
    if (a.clipped_values.defined())
      gemm(1, scaled, table_of_head(a.clipped_values, block.h).transposed(), 0, clipped_gradients);
  }

  void add(const AttentionTile& tile) {
    std::optional<TileScores> scores;
    if (!record.exponentials.defined()) scores.emplace(tile, factors.scores, queries, scratch);
    Matrix e = scores ? scores->by_key : tile.part_of(record.exponentials), dropped = e;
    if (a.dropout.rate > 0)
      dropped = Matrix::row_major(scratch.dropped.data(), tile.rows, tile.keys);
    ShiftedScores gradient(scratch.gradients, tile);
    const Matrix& ds = gradient.by_key;
    if (a.clipped_values.defined()) {
      clear_matrix(ds);
      add_clipped(clipped_gradients, tile, ds);
    }
    LeftFactor p_transposed, ds_left, ds_transposed;
    for_near_rows(tile, [&](int64_t first, int64_t count) {
      if (scores) exponentials(*scores, first, count);
      if (zeros == Zeros::select) leave_out(e, first, count);
      probability_gradients(tile, ds, first, count);
      if (a.dropout.rate > 0) drop_rows(tile, first, count, e, dropped, ds);
      if (zeros == Zeros::select)  // a dropped p_ij, which y_i does not depend on
        clear_unweighted(dropped.rows_from(first, count), ds.rows_from(first, count));
      p_transposed = scratch.left_part(dropped, true, first, count, scratch.probability_panels);
      score_gradients(e, ds, first, count);
      ds_left = scratch.left_part(ds, false, first, count, scratch.panels);
      ds_transposed = scratch.left_part(ds, true, first, count, scratch.gradient_panels);
    });
    value_gradients(tile, p_transposed);
    content_gradients(tile, ds_left, ds_transposed);
    position_gradients(tile, gradient);
    if (a.position_queries.defined()) position_query_gradients(tile, ds);
  }

  /// Adds the gradients that the block has as a whole: those of the query, the biases and the
  /// clipped tables. `sees` is whether it has a tile. Returns whether that of the query is finite.
  bool finish(bool sees) const {
    if (!sees) clear_matrix(dq);
    if (gradients.clipped_values.wanted())
      weighted_product(zeros, {ConstMatrix(clipped_sums).transposed()}, {scaled}, 1,
                       gradients.clipped_values.of(task));
    if (a.clipped_keys.defined())
      weighted_product(zeros, {clipped_slopes}, {table_of_head(a.clipped_keys, block.h)}, 1,
                       dq_position);
    if (gradients.clipped_keys.wanted())
      weighted_product(zeros, {ConstMatrix(clipped_slopes).transposed()}, {queries.position.matrix},
                       1, gradients.clipped_keys.of(task));
    if (gradients.content_bias.wanted()) add_rows(dq, gradients.content_bias.of(task).data);
    if (gradients.position_bias.wanted())
      add_rows(dq_position, gradients.position_bias.of(task).data);
    if (meets_positions(a))
      simd::zip(simd::Binary::add, dq.data, dq_position.data, dq.data, block.rows * scratch.D);
    return gradients.query.add(block, dq, zeros);
  }

 private:
  Matrix rows_in(const Buffer& buffer, int64_t columns) const {
    return Matrix::row_major(buffer.data(), block.rows, columns);
  }

  /// Sets the rows of `scaled`, and their products with y. By selecting, a row of dy that is 0
  /// passes nothing on, whatever its query sees.
  void scale(const ConstMatrix& dy) {
    const Scalar* saved = record.rows.data() + 2 * block.row_number();
    std::array<Scalar, AttentionScratch::most_rows> factors;
    for (int64_t i = 0; i < block.rows; ++i) {
      SoftmaxRow& row = rows[static_cast<size_t>(i)] = {saved[2 * i], saved[2 * i + 1]};
      const Scalar* of_y = dy.data + i * dy.row_stride;
      if (zeros == Zeros::select && is_zero(of_y, scratch.D)) row = {};  // as if it saw no key
      factors[static_cast<size_t>(i)] = 1 / row.total;
    }
    simd::scale_rows(factors.data(), dy, scaled);
    for (int64_t i = 0; i < block.rows; ++i)
      if (rows[static_cast<size_t>(i)].total == 0) clear_matrix(scaled.rows_from(i, 1));
    simd::softmax_means(scaled, block.queries(record.y), means.data());
  }

  /// Makes some rows of e_ij = total_i p_ij again.
  void exponentials(const TileScores& scores, int64_t first, int64_t count) const {
    scores.finish(first, count);
    std::array<Scalar, AttentionProblem::near_rows> sums;
    make_exponentials(&rows[static_cast<size_t>(first)],
                      &scores.tile.seen[static_cast<size_t>(first)],
                      scores.by_key.rows_from(first, count), sums.data());
  }

  /// Sets e_ij of rows that pass nothing on to 0.
  void leave_out(const Matrix& e, int64_t first, int64_t count) const {
    for (int64_t i = first; i < first + count; ++i)
      if (rows[static_cast<size_t>(i)].total == 0) clear_matrix(e.rows_from(i, 1));
  }

  /// Turns some rows of dp_ij into ds_ij.
  void score_gradients(const ConstMatrix& e, const Matrix& ds, int64_t first, int64_t count) const {
    simd::softmax_gradients(e.rows_from(first, count), &means[static_cast<size_t>(first)],
                            *a.factor, ds.rows_from(first, count));
  }

  /// dp_ij = dy_i·(v_j + clipped_values[c]) / total_i for some rows, which begin with the second
  /// term.
  void probability_gradients(const AttentionTile& tile, const Matrix& dp, int64_t first,
                             int64_t count) const {
    tile_product(1, scaled_left.rows_from(first, count),
                 factors.values.of(block).block(0, scratch.D, tile.key_begin, tile.keys),
                 a.clipped_values.defined() ? 1 : 0, dp.rows_from(first, count), {},
                 tile.visible.rows_from(first));
  }

  /// dv_j += Σ_i p_ij dy_i, and p_ij by clipped distance.
  void value_gradients(const AttentionTile& tile, const LeftFactor& dropped) const {
    if (gradients.value.wanted())
      weighted_product(zeros, dropped, scaled_right, 1,
                       gradients.value.of(task).rows_from(tile.key_begin, tile.keys),
                       tile.visible.transposed());
    if (gradients.clipped_values.wanted())
      sum_clipped(dropped.matrix.transposed(), tile, clipped_sums);
  }

  /// dq_i += Σ_j ds_ij k_j, and dk_j += Σ_i ds_ij (q_i + content_bias).
  void content_gradients(const AttentionTile& tile, const LeftFactor& ds,
                         const LeftFactor& transposed) const {
    weighted_product(zeros, ds,
                     factors.keys.of(block).block(tile.key_begin, tile.keys, 0, scratch.D),
                     tile.kept, dq, tile.visible);
    if (gradients.key.wanted())
      weighted_product(zeros, transposed, content_right, 1,
                       gradients.key.of(task).rows_from(tile.key_begin, tile.keys),
                       tile.visible.transposed());
  }

  /// dq_i += Σ_δ ds_iδ position_rows[δ], dposition_rows[δ] += Σ_i ds_iδ (q_i + position_bias), the
  /// gradient of position_scores, and ds_ij by clipped distance.
  void position_gradients(const AttentionTile& tile, const ShiftedScores& ds) const {
    if (a.clipped_keys.defined()) sum_clipped(ds.by_key, tile, clipped_slopes);
    if (!a.position_rows.defined() && !gradients.position_scores.wanted()) return;
    ds.clear_rest();
    ConstMatrix by_distance = ds.by_distance;
    if (a.position_rows.defined())
      weighted_product(
          zeros, scratch.left(by_distance, scratch.panels),
          factors.position_rows.of(block).block(tile.table_begin, tile.distances, 0, scratch.D), 1,
          dq_position, tile.inside);
    if (gradients.position_rows.wanted())
      weighted_product(zeros, scratch.left(by_distance.transposed(), scratch.panels),
                       position_right, 1,
                       gradients.position_rows.of(task).rows_from(tile.table_begin, tile.distances),
                       tile.inside);
    if (gradients.position_scores.wanted())
      add_rows(by_distance, gradients.position_scores.of(task).data + tile.table_begin);
  }

  /// dk_j += Σ_i ds_ij position_queries[δ], dposition_queries[δ] += Σ ds_ij k_j.
  void position_query_gradients(const AttentionTile& tile, const ConstMatrix& ds) const {
    if (!gradients.key.wanted() && !gradients.position_queries.wanted()) return;
    for_key_parts(tile, a.position_queries, scratch.by_key, [&](const KeyPart& part) {
      std::fill_n(scratch.by_key.data(), scratch.by_key.count(), Scalar{0});
      add_matrix(ds.columns_from(part.begin, part.keys).transposed(), part.by_query);
      ConstMatrix by_distance = part.by_distance;
      int64_t first_key = tile.key_begin + part.begin;
      if (gradients.key.wanted())
        weighted_product(zeros, scratch.left(by_distance, scratch.panels),
                         factors.position_queries.of(block).block(
                             part.table_begin, by_distance.columns, 0, scratch.D),
                         1, gradients.key.of(task).rows_from(first_key, part.keys),
                         part.inside(tile));
      if (gradients.position_queries.wanted())
        weighted_product(
            zeros, scratch.left(by_distance.transposed(), scratch.panels),
            factors.keys.of(block).block(first_key, part.keys, 0, scratch.D), 1,
            gradients.position_queries.of(task).rows_from(part.table_begin, by_distance.columns),
            part.inside(tile).transposed());
    });
  }
};

}  // namespace

void attention_backward(const RelativeAttention& a, const AttentionRecord& record,
                        const Tensor& dy) {
  AttentionProblem problem{a};
  int64_t heads = problem.B * problem.H, strips = problem.strips(), blocks = problem.blocks();
  int64_t grain = problem.grain(blocks / strips);
  Gradients gradients{problem};
  BackwardFactors factors{problem, gradients};
  TileList tiles(problem);
  parallel_ranges(heads * strips, grain, [&](int64_t begin, int64_t end) {
    BackwardScratch scratch{{problem}};
    for (int64_t task = begin; task < end; ++task) {
      for (HeadFactors* own : {&factors.scores.keys, &factors.keys, &factors.values})
        own->begin(task);
      for (TaskGradient* own : {&gradients.key, &gradients.value}) own->begin(task);
      leave_out_zeros([&](Zeros zeros) {
        bool is_finite = true;
        for (const TaskGradient* shared : gradients.shared()) shared->clear(task);
        for (int64_t number = task / heads; number < blocks; number += strips) {
          AttentionBlock block(problem, task % heads, number);
          BackwardBlock backward{factors, scratch, record, block, task, zeros};
          backward.begin(dy);
          bool sees =
              tiles.for_tiles(block, [&](const AttentionTile& tile) { backward.add(tile); });
          if (!backward.finish(sees)) is_finite = false;
        }
        for (const TaskGradient* shared : gradients.shared())
          if (!shared->is_finite(task)) is_finite = false;
        return is_finite;
      });
      for (TaskGradient* own : {&gradients.key, &gradients.value}) own->end(task);
      for (HeadFactors* own : {&factors.scores.keys, &factors.keys, &factors.values})
        own->end(task);
    }
  });
  gradients.query.deliver();
  for (const TaskGradient* shared : gradients.shared()) shared->deliver();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
