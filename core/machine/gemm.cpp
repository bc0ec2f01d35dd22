#include "core/errors.h"
#include "core/machine/bfloat16_product.h"
#include "core/machine/blas.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

bool has_products(const ConstMatrix& a, const ConstMatrix& b, Scalar beta, const Matrix& c) {
  require(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns, "gemm: [", a.rows,
          ", ", a.columns, "] x [", b.rows, ", ", b.columns, "] to [", c.rows, ", ", c.columns,
          "]: expected [m, k] x [k, n] to [m, n]");
  require((c.rows <= 1 || c.row_stride != 0) && (c.columns <= 1 || c.column_stride != 0),
          "gemm: the result is broadcast: expected strides other than 0");
  if (a.columns > 0) return c.rows > 0 && c.columns > 0;
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; ++column)
      c.at(row, column) = beta == 0 ? 0 : beta * c.at(row, column);
  return false;
}

double multiplications(const ConstMatrix& a, const ConstMatrix& c) {
  return static_cast<double>(a.rows) * static_cast<double>(a.columns) *
         static_cast<double>(c.columns);
}

void gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c, Threads threads) {
  (products_round() ? bfloat16_gemm : unrounded_gemm)(alpha, a, b, beta, c, threads);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
