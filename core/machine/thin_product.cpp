#include "core/machine/thin_product.h"

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The number of rows up to which a product is thin.
constexpr int64_t thin_rows = 8;

/// Whether c = a b has few rows and sums over elements that lie side by side in a and in b.
bool is_thin(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  auto dense = [](int64_t length, int64_t stride) { return length <= 1 || stride == 1; };
  return c.rows <= thin_rows && dense(a.columns, a.column_stride) && dense(b.rows, b.row_stride);
}

}  // namespace

bool multiply_thin(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Scalar beta,
                   const Matrix& c) {
  if (is_thin(a, b, c)) {
    simd::products(alpha, a, b.transposed(), beta, c);
  } else if (is_thin(b.transposed(), a.transposed(), c.transposed())) {
    simd::products(alpha, b.transposed(), a, beta, c.transposed());
  } else {
    return false;
  }
  return true;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
