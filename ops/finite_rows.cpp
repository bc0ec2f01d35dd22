#include "ops/finite_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

bool is_finite(const ConstMatrix& x) {
  if (x.rows > 1 && has_dense_columns(x)) return is_finite(x.transposed());
  if (x.column_stride == 1 && x.row_stride == x.columns)
    return simd::is_finite(x.data, x.rows * x.columns);
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
  // The copy has the strides of the original, which a product may choose its order of summing by.
  int64_t down = (given.rows - 1) * given.row_stride;
  int64_t along = (given.columns - 1) * given.column_stride;
  memory_ = Buffer(std::abs(down) + std::abs(along) + 1);
  Scalar* first = memory_.data() - std::min<int64_t>(down, 0) - std::min<int64_t>(along, 0);
  Matrix copy{first, given.rows, given.columns, given.row_stride, given.column_stride};
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
