#include "core/errors.h"
#include "core/machine/bfloat16_product.h"
#include "core/machine/blas.h"
#include "core/machine/packed_product.h"
#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Scalar Addend::put_into(const Matrix& c) const {
  if (row) copy_matrix(in(c), c);
  return beta;
}

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

double multiplications(const ConstMatrix& a, const ConstMatrix& c) {
  return static_cast<double>(a.rows) * static_cast<double>(a.columns) *
         static_cast<double>(c.columns);
}

namespace {

/// Whether c = a b has few rows and sums over elements that lie side by side in a and in b.
bool is_thin(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  auto dense = [](int64_t length, int64_t stride) { return length <= 1 || stride == 1; };
  return c.rows <= thin_rows && dense(a.columns, a.column_stride) && dense(b.rows, b.row_stride);
}

}  // namespace

bool multiply_thin(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Addend added,
                   const Matrix& c) {
  if (is_thin(a, b, c)) {
    simd::products(alpha, a, b.transposed(), added.put_into(c), c);
  } else if (is_thin(b.transposed(), a.transposed(), c.transposed())) {
    simd::products(alpha, b.transposed(), a, added.put_into(c), c.transposed());
  } else {
    return false;
  }
  return true;
}

void panel_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                Threads threads) {
  if (!has_products(a, b, added, c) || multiply_thin(alpha, a, b, added, c)) return;
  packed_product(simd::vector_kernel(), threads, alpha, a, b, added, c);
}

void gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c, Threads threads) {
  (products_round() ? bfloat16_gemm : unrounded_gemm)(alpha, a, b, added, c, threads);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
