#include "core/machine/product.h"

#include "core/errors.h"
#include "core/machine/blas.h"
#include "core/machine/packed_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns whether c = alpha a b + added has anything to multiply; where its sums are empty, it
/// sets c to what is added. Throws an Error unless a is [m, k], b is [k, n] and c is [m, n] without
/// strides of 0.
bool has_products(const ConstMatrix& a, const ConstMatrix& b, Addend added, const Matrix& c) {
  require(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns, "gemm: [", a.rows,
          ", ", a.columns, "] x [", b.rows, ", ", b.columns, "] to [", c.rows, ", ", c.columns,
          "]: expected [m, k] x [k, n] to [m, n]");
  require((c.rows <= 1 || c.row_stride != 0) && (c.columns <= 1 || c.column_stride != 0),
          "gemm: the result is broadcast: expected strides other than 0");
  if (a.columns > 0) return c.rows > 0 && c.columns > 0;
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; ++column)
      c.at(row, column) = added.beta == 0 ? 0 : added.beta * added.in(c).at(row, column);
  return false;
}

}  // namespace

void gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c, Threads threads,
          Precision precision) {
  if (!has_products(a, b, added, c)) return;
  if (const PanelKernel* kernel = kernel_for({a, c}, precision))
    panel_product(*kernel, alpha, a, b, added, c, threads);
  else
    blas_product(alpha, a, b, added, c, threads);
}

void gemm(Scalar alpha, const ConstMatrix& a, const Packed& b, Addend added, const Matrix& c,
          Threads threads) {
  if (!has_products(a, b.matrix(), added, c)) return;
  if (kernel_for({a, c}) && b.kernel() == &weights_kernel())
    panel_product(alpha, a, b, added, c, threads);
  else
    gemm(alpha, a, b.matrix(), added, c, threads);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
