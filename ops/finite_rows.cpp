#include "ops/finite_rows.h"

#include <algorithm>
#include <cmath>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

bool is_finite(const ConstMatrix& x) {
  if (x.rows > 1 && has_dense_columns(x)) return is_finite(x.transposed());
  for (int64_t i = 0; i < x.rows; ++i) {
    if (x.column_stride == 1 || x.columns == 1) {
      if (!simd::is_finite(&x.at(i, 0), x.columns)) return false;
    } else {
      for (int64_t j = 0; j < x.columns; ++j)
        if (!std::isfinite(x.at(i, j))) return false;
    }
  }
  return true;
}

FiniteRows::FiniteRows(const ConstMatrix& given) : matrix(given) {
  if (is_finite(given)) return;
  memory_ = Buffer(given.rows * given.columns);
  Matrix copy = Matrix::row_major(memory_.data(), given.rows, given.columns);
  if (has_dense_columns(given))  // A product reads both in the same order.
    copy = Matrix::row_major(memory_.data(), given.columns, given.rows).transposed();
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
