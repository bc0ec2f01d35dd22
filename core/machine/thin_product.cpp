#include "core/machine/blas.h"
#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

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
    simd::thin_product(alpha, a, b.transposed(), added.put_into(c), c);
  } else if (is_thin(b.transposed(), a.transposed(), c.transposed())) {
    simd::thin_product(alpha, b.transposed(), a, added.put_into(c), c.transposed());
  } else {
    return false;
  }
  return true;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
