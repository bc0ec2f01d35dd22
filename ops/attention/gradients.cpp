#include "ops/attention/gradients.h"

#include "core/accumulate.h"
#include "core/machine/simd.h"
#include "ops/attention/factors.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Whether the task of each head can add to the gradient of x itself, since no other task adds to
/// the same elements: a head's rows are of one task, and none of the `others` shares any.
bool adds_in_place(const Tensor& x, std::initializer_list<const Tensor*> others,
                   const AttentionProblem& problem) {
  const Layout& layout = x.layout();
  auto is_apart = [&](const Tensor* other) {
    return !x.shares_storage(*other) || layout.is_apart_from(other->layout());
  };
  return problem.strips() == 1 && layout.strides[-1] == 1 && !layout.is_broadcast() &&
         std::ranges::all_of(others, is_apart);
}

/// Returns a bias [H, D] as a table of one row for each head.
Tensor bias_by_head(const Tensor& x) { return x.defined() ? unsqueeze(x, 1) : x; }

/// Returns scores [n, H] as a table of one row for each head.
Tensor scores_by_head(const Tensor& x) { return x.defined() ? bias_by_head(transpose(x)) : x; }

}  // namespace

TaskGradient::TaskGradient(const Tensor& input, const AttentionProblem& problem, bool in_place,
                           Parts parts)
    : parts_(parts) {
  if (!input.requires_gradient()) return;
  int64_t strips = parts == Parts::sums ? problem.strips() : 1;
  target_ = expand(input, {strips, problem.B, problem.H, input.size(-2), input.size(-1)});
  if (in_place) {
    open_ = input.open_gradient();
    own_.resize(static_cast<size_t>(problem.B * problem.H));
  } else {
    sums_ = Tensor::empty(target_.shape());
    data_ = sums_.mutable_data();
  }
}

Matrix TaskGradient::of(int64_t task) const {
  if (!wanted()) return {};
  int64_t rows = target_.size(-2), columns = target_.size(-1);
  if (parts_ == Parts::rows) task %= target_.size(1) * target_.size(2);
  Scalar* data = open_ ? own_[task].data() : data_ + task * rows * columns;
  return Matrix::row_major(data, rows, columns);
}

void TaskGradient::begin(int64_t task) {
  if (open_) own_[task] = Buffer(target_.size(-2) * target_.size(-1));
  if (wanted() && parts_ == Parts::sums) clear_matrix(of(task));
}

bool TaskGradient::is_finite(int64_t task) const {
  return !wanted() || parts_ == Parts::rows || SHIFTGRAD_PRECISION::is_finite(of(task));
}

void TaskGradient::end(int64_t task) {
  if (!open_) return;
  const Layout& layout = open_.target.layout();
  int64_t b = task / layout.shape[1], h = task % layout.shape[1];
  const Matrix own = of(task);
  Matrix to{open_.target.mutable_data() + b * layout.strides[0] + h * layout.strides[1], own.rows,
            own.columns, layout.strides[2], 1};
  open_.beta == 0 ? copy_matrix(own, to) : simd::add_rows(own, to, to);
  own_[task] = {};
}

void TaskGradient::deliver() const {
  if (wanted() && !open_) accumulate(target_.open_gradient(), sums_);
}

AttentionGradients::AttentionGradients(const AttentionProblem& p)
    : query(all.emplace_back(p.a.query, p, adds_in_place(p.a.query, {}, p),
                             TaskGradient::Parts::rows)),
      key(all.emplace_back(p.a.key, p, adds_in_place(p.a.key, {&p.a.query, &p.a.value}, p))),
      value(all.emplace_back(p.a.value, p, adds_in_place(p.a.value, {&p.a.query, &p.a.key}, p))),
      content_bias(all.emplace_back(bias_by_head(p.a.content_bias), p)),
      position_bias(all.emplace_back(bias_by_head(p.a.position_bias), p)),
      position_rows(all.emplace_back(table_by_head(p.a.position_rows), p)),
      position_queries(all.emplace_back(table_by_head(p.a.position_queries), p)),
      position_scores(all.emplace_back(scores_by_head(p.a.position_scores), p)),
      clipped_keys(all.emplace_back(table_by_head(p.a.clipped_keys), p)),
      clipped_values(all.emplace_back(table_by_head(p.a.clipped_values), p)) {}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
