#include "ops/attention/factors.h"

#include "core/machine/parallel.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor table_by_head(const Tensor& table) {
  return table.defined() ? unsqueeze(transpose(table, 0, 1), 0) : table;
}

HeadFactors::HeadFactors(const Tensor& x, Side side, const AttentionProblem& problem, bool packs)
    : x_(x), side_(side) {
  if (!x.defined()) return;
  batches_ = x.size(0), groups_ = x.size(1);
  matrices_.reserve(static_cast<size_t>(batches_ * groups_));
  for (int64_t n = 0; n < batches_ * groups_; ++n) matrices_.emplace_back(factor(n), false);
  packed_by_task_ = packs && problem.tasks_are_heads() && batches_ > 1 && groups_ == problem.H;
  if (packs && !packed_by_task_)
    parallel_for(batches_ * groups_, [&](int64_t n) { matrices_[n] = {factor(n), true}; });
}

ConstMatrix HeadFactors::factor(int64_t n) const {
  ConstMatrix rows = rows_of_head(x_, n / groups_, n % groups_);
  return side_ == Side::rows ? rows : rows.transposed();
}

void HeadFactors::set_packed(int64_t head, bool packs) {
  if (packed_by_task_) matrices_[head] = {factor(head), packs};
}

Factor HeadFactors::of(const AttentionBlock& block) const {
  const int64_t b = batches_ == 1 ? 0 : block.b;
  return matrices_[b * groups_ + block.problem.group(block.h, groups_)].in_one();
}

void weighted_product(Zeros zeros, const Factor& a, const Factor& b, Scalar beta, const Matrix& c,
                      const Band& of_a) {
  if (zeros == Zeros::multiply) return tile_product(1, a, b, beta, c, of_a);
  weighted_product(1, a.matrix, b.matrix, c, [&](const ConstMatrix& right) {
    if (right.data == b.matrix.data) return tile_product(1, a, b, beta, c, of_a);
    tile_product(1, a, Packed(right, b.kernel != nullptr).in_one(), beta, c, of_a);
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
