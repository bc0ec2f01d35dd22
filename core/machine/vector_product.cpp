// Products without BLAS, for builds that have none: the loop by panels with a tile in vectors of
// any width. This file is compiled once for each instruction set.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/machine/vector_product.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include <algorithm>

#include "core/machine/blas.h"
#include "core/machine/packed_product.h"
#include "core/machine/simd_loops-inl.h"
#include "core/machine/thin_product.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

/// The rows of a tile: as many as leave registers for two vectors of b, one number of a and, where
/// the CPU cannot multiply and add in one go, a product. AVX-512 and ARM have 32, others 16.
constexpr bool has_many_registers = lanes * sizeof(Scalar) == 64 || HWY_ARCH_ARM_A64;
constexpr int64_t product_rows = has_many_registers ? 12 : 4;
constexpr int64_t product_columns = 2 * lanes;

/// Packs the columns of b into panels of `width`.
template <int64_t width>
HWY_INLINE void pack(const ConstMatrix& b, Scalar* panels) {
  for (int64_t first = 0; first < b.columns; first += width) {
    const int64_t count = std::min(width, b.columns - first);
    const Scalar* row = b.data + first * b.column_stride;
    for (int64_t depth = 0; depth < b.rows; ++depth, row += b.row_stride, panels += width)
      for (int64_t column = 0; column < width; ++column)
        panels[column] = column < count ? row[column * b.column_stride] : 0;
  }
}

/// c = alpha a b + beta c for the first `rows` rows of a's panel of `width`, all sums in registers.
template <int rows, int64_t width>
HWY_INLINE void multiply_rows(int64_t depth, const Scalar* a, const Scalar* b, Scalar alpha,
                              Scalar beta, const Matrix& c) {
  Vector left[rows], right[rows];
  for (int row = 0; row < rows; ++row) left[row] = right[row] = hn::Zero(Lanes());
  for (int64_t n = 0; n < depth; ++n, a += width, b += product_columns) {
    const Vector b_left = hn::LoadU(Lanes(), b), b_right = hn::LoadU(Lanes(), b + lanes);
    for (int row = 0; row < rows; ++row) {
      const Vector shared = constant(a[row]);
      left[row] = hn::MulAdd(shared, b_left, left[row]);
      right[row] = hn::MulAdd(shared, b_right, right[row]);
    }
  }
  for (int row = 0; row < rows; ++row) {
    if (row >= c.rows) break;
    Scalar* to = c.data + row * c.row_stride;
    store_sums(alpha, left[row], beta, to, c.column_stride, std::min(lanes, c.columns));
    if (c.columns > lanes)
      store_sums(alpha, right[row], beta, to + lanes * c.column_stride, c.column_stride,
                 c.columns - lanes);
  }
}

void multiply_panels(int64_t depth, const Scalar* a, const Scalar* b, Scalar alpha, Scalar beta,
                     const Matrix& c) {
  if (c.rows <= product_rows / 2)
    return multiply_rows<product_rows / 2, product_rows>(depth, a, b, alpha, beta, c);
  multiply_rows<product_rows, product_rows>(depth, a, b, alpha, beta, c);
}

void multiply_row(int64_t depth, const Scalar* a, const Scalar* b, Scalar alpha, Scalar beta,
                  const Matrix& c) {
  for (int64_t column = 0; column < c.columns; column += product_columns)
    multiply_rows<1, 1>(depth, a, b + column * depth, alpha, beta,
                        c.columns_from(column, std::min(product_columns, c.columns - column)));
}

const PanelKernel<Scalar>& vector_kernel() {
  static constexpr PanelKernel<Scalar> kernel = {.tile_rows = product_rows,
                                                 .tile_columns = product_columns,
                                                 .numbers = 1,
                                                 .pack_left = pack<product_rows>,
                                                 .pack_right = pack<product_columns>,
                                                 .multiply = multiply_panels,
                                                 .pack_row = pack<1>,
                                                 .multiply_row = multiply_row};
  return kernel;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace simd {

HWY_EXPORT(vector_kernel);

const PanelKernel<Scalar>& chosen_kernel() { return HWY_DYNAMIC_DISPATCH(vector_kernel)(); }

}  // namespace simd

void unrounded_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c,
                    Threads threads) {
  if (!has_products(a, b, beta, c) || multiply_thin(alpha, a, b, beta, c)) return;
  if (multiplications(a, c) < worthwhile_products) threads = Threads::one;
  packed_product(simd::chosen_kernel(), threads, alpha, a, b, beta, c);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#endif
