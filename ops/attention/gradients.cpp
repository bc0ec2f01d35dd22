#include "ops/attention/gradients.h"

#include "core/accumulate.h"
#include "core/machine/simd.h"
#include "ops/attention/factors.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Whether the task of each head can add to the gradient of x itself, since no other task adds to
/// the same elements: a head's rows are of one task, and no other head nor input shares any.
bool adds_in_place(const Tensor& x, std::initializer_list<const Tensor*> others,
                   const AttentionProblem& problem) {
  const Layout& layout = x.layout();
  auto is_apart = [&](const Tensor* other) {
    return !x.shares_storage(*other) || layout.surely_disjoint(other->layout());
  };
  return problem.strips() == 1 && x.size(1) == problem.H && layout.strides[-1] == 1 &&
         !layout.is_broadcast() && std::ranges::all_of(others, is_apart);
}

/// Returns x with an axis of size 1 before this one, or an undefined tensor as it is.
Tensor as_row(const Tensor& x, int64_t axis) { return x.defined() ? unsqueeze(x, axis) : x; }

/// Returns a bias [H, D] as a table of one row for each head.
Tensor bias_by_head(const Tensor& x) { return as_row(x, 1); }

/// Returns scores [n, H] as a table of one row for each head.
Tensor scores_by_head(const Tensor& x) { return x.defined() ? bias_by_head(transpose(x)) : x; }

}  // namespace

TaskGradient::TaskGradient(const Tensor& input, const AttentionProblem& problem,
                           const OpenGradient& open, bool in_place, Parts parts)
    : parts_(parts) {
  if (!input.requires_gradient()) return;
  int64_t strips = parts == Parts::sums ? problem.strips() : 1;
  const int64_t groups = input.size(-3), heads = problem.H / groups, axis = input.rank() - 2;
  const Dims shape{strips, problem.B, groups, heads, input.size(-2), input.size(-1)};
  input_ = expand(unsqueeze(input, axis), shape);
  if (open) open_ = {expand(unsqueeze(open.target, axis), shape), open.beta};
  if (!in_place)
    sums_ = Tensor::empty(shape);
  else if (open_.beta != 0)
    own_.resize(static_cast<size_t>(problem.B * problem.H));
}

Matrix TaskGradient::target(int64_t task) const {
  const auto& [shape, strides, offset] = open_.target.layout();
  const int64_t b = task / shape[2], h = task % shape[2];  // each head is a group
  return {open_.target.mutable_data() + b * strides[1] + h * strides[2], shape[4], shape[5],
          strides[4], 1};
}

Matrix TaskGradient::of(int64_t task) const {
  if (!wanted()) return {};
  if (!sums_.defined() && own_.empty()) return target(task);
  int64_t rows = input_.size(-2), columns = input_.size(-1);
  if (parts_ == Parts::rows) task %= input_.size(1) * input_.size(2) * input_.size(3);
  Scalar* data = sums_.defined() ? sums_.mutable_data() + task * rows * columns : own_[task].data();
  return Matrix::row_major(data, rows, columns);
}

void TaskGradient::begin(int64_t task) {
  if (!own_.empty()) own_[task] = Buffer(input_.size(-2) * input_.size(-1));
  if (wanted() && parts_ == Parts::sums) clear_matrix(of(task));
}

bool TaskGradient::is_finite(int64_t task) const {
  return !wanted() || parts_ == Parts::rows || SHIFTGRAD_PRECISION::is_finite(of(task));
}

void TaskGradient::end(int64_t task) {
  if (own_.empty()) return;
  const Matrix to = target(task);
  simd::add_rows(of(task), to, to);
  own_[task] = {};
}

void TaskGradient::write_gradient() const {
  if (sums_.defined()) accumulate(open_ ? open_ : input_.open_gradient(), sums_);
}

AttentionGradients::AttentionGradients(const AttentionProblem& p)
    : AttentionGradients(p, Tensor::open_gradients({&p.a.query, &p.a.key, &p.a.value})) {}

AttentionGradients::AttentionGradients(const AttentionProblem& p,
                                       const std::vector<OpenGradient>& open)
    : query(all.emplace_back(p.a.query, p, open[0], adds_in_place(p.a.query, {}, p),
                             TaskGradient::Parts::rows)),
      key(all.emplace_back(p.a.key, p, open[1],
                           adds_in_place(p.a.key, {&p.a.query, &p.a.value}, p))),
      value(all.emplace_back(p.a.value, p, open[2],
                             adds_in_place(p.a.value, {&p.a.query, &p.a.key}, p))),
      content_bias(all.emplace_back(bias_by_head(p.a.content_bias), p)),
      position_bias(all.emplace_back(bias_by_head(p.a.position_bias), p)),
      position_rows(all.emplace_back(table_by_head(p.a.position_rows), p)),
      position_queries(all.emplace_back(table_by_head(p.a.position_queries), p)),
      position_scores(all.emplace_back(scores_by_head(p.a.position_scores), p)),
      key_scores(all.emplace_back(as_row(p.a.key_scores, 2), p)),
      score_parameters(all.emplace_back(as_row(p.score_parameters, 1), p)),
      sink(all.emplace_back(as_row(as_row(p.a.sink, 1), 1), p)),
      clipped_keys(all.emplace_back(table_by_head(p.a.clipped_keys), p)),
      clipped_values(all.emplace_back(table_by_head(p.a.clipped_values), p)) {}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
