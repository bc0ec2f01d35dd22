#include "core/errors.h"
#include "core/machine/blas.h"
#include "core/machine/right_factor.h"
#ifndef SHIFTGRAD_DOUBLE
#include "core/machine/bfloat16_product.h"
#endif
#include "core/machine/precision.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

bool has_products(const ConstMatrix& a, const ConstMatrix& b, Scalar beta, const Matrix& c) {
  require(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns, "gemm: [", a.rows,
          ", ", a.columns, "] x [", b.rows, ", ", b.columns, "] to [", c.rows, ", ", c.columns,
          "]: expected [m, k] x [k, n] to [m, n]");
  require((c.rows <= 1 || c.row_stride != 0) && (c.columns <= 1 || c.column_stride != 0),
          "gemm: the result is broadcast: expected strides other than 0");
  if (a.columns > 0) return c.rows > 0 && c.columns > 0;
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; ++column) {
      Scalar& element = c.data[row * c.row_stride + column * c.column_stride];
      element = beta == 0 ? 0 : beta * element;
    }
  return false;
}

double multiplications(const ConstMatrix& a, const ConstMatrix& b) {
  return static_cast<double>(a.rows) * static_cast<double>(a.columns) *
         static_cast<double>(b.columns);
}

void gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
#ifndef SHIFTGRAD_DOUBLE
  if (product_precision() == Precision::bfloat16) return bfloat16_gemm(alpha, a, b, beta, c);
#endif
  unrounded_gemm(alpha, a, b, beta, c);
}

void parallel_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
#ifndef SHIFTGRAD_DOUBLE
  if (product_precision() == Precision::bfloat16)
    return parallel_bfloat16_gemm(alpha, a, b, beta, c);
#endif
  parallel_unrounded_gemm(alpha, a, b, beta, c);
}

#ifdef SHIFTGRAD_DOUBLE
RightFactor::RightFactor(const ConstMatrix& b) : b_(b) {}

void RightFactor::gemm(Scalar alpha, const ConstMatrix& a, Scalar beta, const Matrix& c) const {
  unrounded_gemm(alpha, a, b_, beta, c);
}

void RightFactor::parallel_gemm(Scalar alpha, const ConstMatrix& a, Scalar beta,
                                const Matrix& c) const {
  parallel_unrounded_gemm(alpha, a, b_, beta, c);
}
#endif

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
