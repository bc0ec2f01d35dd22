#include "ops/zero_weights.h"

#include <algorithm>

namespace shiftgrad::SHIFTGRAD_PRECISION {

bool is_zero(const Scalar* x, int64_t n) {
  return std::all_of(x, x + n, [](Scalar each) { return each == 0; });
}

void clear_unweighted(const ConstMatrix& weights, const Matrix& x) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const Scalar* weight = &weights.at(i, 0);
    Scalar* row = &x.at(i, 0);
    for (int64_t j = 0; j < x.columns; ++j) row[j] = weight[j] == 0 ? 0 : row[j];
  }
}

namespace {

/// Returns the strides of a copy without gaps by which a product chooses the same order of summing:
/// each is 1 where that of the given matrix is. Strides below 1 are those of a matrix that a
/// product copies in rows.
Matrix same_order(const ConstMatrix& given) {
  int64_t rows = given.rows, columns = given.columns, down = given.row_stride;
  int64_t along = columns == 1 ? 1 : given.column_stride;
  if (down < 1 || along < 1) return Matrix::row_major(nullptr, rows, columns);
  if (along == 1)
    return {nullptr, rows, columns, down == 1 ? 1 : std::max<int64_t>(columns, 2), 1};
  if (down == 1) return {nullptr, rows, columns, 1, std::max<int64_t>(rows, 2)};
  return {nullptr, rows, columns, 2 * columns, 2};
}

}  // namespace

FiniteRows::FiniteRows(const ConstMatrix& given) : matrix(given) {
  if (is_finite(given)) return;
  Matrix copy = same_order(given);
  memory_ = Buffer((copy.rows - 1) * copy.row_stride + (copy.columns - 1) * copy.column_stride + 1);
  copy.data = memory_.data();
  for (int64_t n = 0; n < given.rows; ++n) {
    bool finite = is_finite(given.rows_from(n, 1));
    if (!finite) others.push_back(n);
    for (int64_t d = 0; d < given.columns; ++d) copy.at(n, d) = finite ? given.at(n, d) : 0;
  }
  matrix = copy;
}

void add_weighted_rows(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b,
                       const std::vector<int64_t>& rows, const Matrix& c) {
  for (int64_t n : rows)
    for (int64_t m = 0; m < c.rows; ++m)
      if (Scalar weight = a.at(m, n); weight != 0)
        for (int64_t d = 0; d < c.columns; ++d) c.at(m, d) += alpha * weight * b.at(n, d);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
