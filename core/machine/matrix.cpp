#include "core/machine/matrix.h"

#include <algorithm>
#include <cmath>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void copy_matrix(const ConstMatrix& x, const Matrix& y) {
  if (has_dense_columns(x) && has_dense_columns(y))
    return copy_matrix(x.transposed(), y.transposed());
  for (int64_t i = 0; i < x.rows; ++i) {
    if (x.column_stride == 1 && y.column_stride == 1) {
      std::copy_n(&x.at(i, 0), x.columns, &y.at(i, 0));
    } else {
      for (int64_t j = 0; j < x.columns; ++j) y.at(i, j) = x.at(i, j);
    }
  }
}

void add_matrix(const ConstMatrix& x, const Matrix& y) {
  constexpr int64_t few = 16;  // columns of x whose lines stay in the first cache
  for (int64_t begin = 0; begin < x.columns; begin += few)
    for (int64_t i = 0; i < x.rows; ++i)
      for (int64_t j = begin; j < std::min(begin + few, x.columns); ++j) y.at(i, j) += x.at(i, j);
}

void add_run(Scalar alpha, const Scalar* x, int64_t x_step, Scalar beta, Scalar* y, int64_t y_step,
             int64_t length) {
  if (x_step == 1 && y_step == 1) return simd::axpby(alpha, x, beta, y, length);
  for (int64_t n = 0; n < length; ++n) {
    Scalar old = beta == 0 ? 0 : beta * y[n * y_step];
    y[n * y_step] = alpha * x[n * x_step] + old;
  }
}

bool is_finite(const ConstMatrix& x) {
  if (x.rows > 1 && has_dense_columns(x)) return is_finite(x.transposed());
  if (x.column_stride == 1 && x.row_stride == x.columns)
    return simd::is_finite({x.data, 1, x.rows * x.columns, 0, 1});
  if (x.column_stride == 1 || x.columns == 1) return simd::is_finite(x);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j)
      if (!std::isfinite(x.at(i, j))) return false;
  return true;
}

void clear_matrix(const Matrix& x) {
  if (x.row_stride == x.columns) return void(std::fill_n(x.data, x.rows * x.columns, Scalar{0}));
  for (int64_t i = 0; i < x.rows; ++i) std::fill_n(&x.at(i, 0), x.columns, Scalar{0});
}

void clear_outside(const Matrix& x, int64_t row, int64_t begin, int64_t end) {
  Scalar* values = &x.at(row, 0);
  std::fill(values, values + begin, Scalar{0});
  std::fill(values + end, values + x.columns, Scalar{0});
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
