// A kernel for products of panels in vectors of any width. This file is compiled once for each
// instruction set.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/machine/vector_kernel.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include <hwy/cache_control.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/machine/dispatch.h"
#include "core/machine/packed_product.h"
#include "core/machine/simd_loops-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

/// The rows of a tile: as many as leave registers for two vectors of b, one number of a and, where
/// the CPU cannot multiply and add in one go, a product. AVX-512 and ARM have 32, others 16. On
/// AVX2, which can, 6 rows are 4 to 8 % faster than 4 (Zen 3).
constexpr bool has_many_registers = lanes * sizeof(Scalar) == 64 || HWY_ARCH_ARM_A64;
constexpr int64_t product_rows = has_many_registers ? 12 : HWY_NATIVE_FMA ? 6 : 4;
constexpr int64_t product_columns = 2 * lanes;
/// How many depths ahead of the numbers that it multiplies a panel of b is fetched.
constexpr int64_t prefetched = 32;

/// Packs two or four columns of b, each of which has its numbers side by side, into their places of
/// a panel of `width`.
template <int64_t width, int64_t count>
HWY_INLINE void pack_dense_columns(const ConstMatrix& b, Scalar* panel) {
  HWY_ALIGN Scalar turned[lanes][count];
  for_vectors(b.rows, [&](auto access, int64_t depth) HWY_ATTR {
    auto column = [&](int64_t n) HWY_ATTR {
      const Scalar* from = b.data + n * b.column_stride + depth;
      hwy::Prefetch(from + product_columns * b.column_stride);
      return access.load(from);
    };
    if constexpr (count == 4)
      hn::StoreInterleaved4(column(0), column(1), column(2), column(3), Lanes(), turned[0]);
    else
      hn::StoreInterleaved2(column(0), column(1), Lanes(), turned[0]);
    for (int64_t n = 0; n < std::min(lanes, b.rows - depth); ++n)
      std::memcpy(panel + (depth + n) * width, turned[n], sizeof(turned[n]));
  });
}

/// Packs up to `width` columns of b into a panel; missing ones are 0.
template <int64_t width>
HWY_INLINE void pack_columns(const ConstMatrix& b, Scalar* panel) {
  const bool dense = has_dense_columns(b);
  int64_t turned = 0;
  for (; dense && turned + 4 <= b.columns; turned += 4)
    pack_dense_columns<width, 4>(b.columns_from(turned, 4), panel + turned);
  for (; dense && turned + 2 <= b.columns; turned += 2)
    pack_dense_columns<width, 2>(b.columns_from(turned, 2), panel + turned);
  const Scalar* row = b.data;
  for (int64_t depth = 0; depth < b.rows; ++depth, row += b.row_stride, panel += width)
    for (int64_t column = turned; column < width; ++column)
      panel[column] = column < b.columns ? row[column * b.column_stride] : 0;
}

/// Packs panels whose rows lie side by side in b, row by row of b.
template <int64_t width>
HWY_INLINE void pack_dense_rows(const ConstMatrix& b, Scalar* panels) {
  for (int64_t depth = 0; depth < b.rows; ++depth, panels += width) {
    const Scalar* row = b.data + depth * b.row_stride;
    for (int64_t first = 0; first < b.columns; first += width)
      std::memcpy(panels + first * b.rows, row + first, width * sizeof(Scalar));
  }
}

/// Packs the columns of b into panels of `width`.
template <int64_t width>
void pack(const ConstMatrix& b, Scalar* panels) {
  int64_t first = 0;
  if (b.column_stride == 1) {
    first = b.columns / width * width;
    pack_dense_rows<width>(b.columns_from(0, first), panels);
  }
  for (; first < b.columns; first += width)
    pack_columns<width>(b.columns_from(first, std::min(width, b.columns - first)),
                        panels + first * b.rows);
}

#ifdef SHIFTGRAD_DOUBLE
/// Doubles are never rounded.
void round(Scalar* /*x*/, int64_t /*n*/) {}
#else
/// Rounds floats to the nearest whose lower half is 0, of two the even one. A carry may reach the
/// exponent, which then is right. A NaN gets a bit that no carry can lose.
void round(Scalar* x, int64_t n) {
  const hn::RebindToUnsigned<Lanes> bits;
  for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
    const Vector value = access.load(x + i);
    const auto whole = hn::BitCast(bits, value);
    const auto even = hn::And(hn::ShiftRight<16>(whole), hn::Set(bits, 1));
    const auto nearest = hn::Add(whole, hn::Add(even, hn::Set(bits, 0x7fff)));
    const auto quiet = hn::Or(whole, hn::Set(bits, 0x400000));
    const auto kept = hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(value)), quiet, nearest);
    access.store(hn::BitCast(Lanes(), hn::And(kept, hn::Set(bits, 0xffff0000u))), x + i);
  });
}
#endif

/// Packs the columns of b into panels of `width`, and rounds each while it is in the first cache.
template <int64_t width>
void pack_rounded(const ConstMatrix& b, Scalar* panels) {
  for (int64_t first = 0; first < b.columns; first += width, panels += width * b.rows) {
    pack<width>(b.columns_from(first, std::min(width, b.columns - first)), panels);
    round(panels, width * b.rows);
  }
}

/// Copies a to rows, or columns if those of a are dense, `step` apart, and rounds it there.
void convert_rounded(const ConstMatrix& a, Scalar* elements, int64_t step) {
  if (has_dense_columns(a)) return convert_rounded(a.transposed(), elements, step);
  copy_matrix(a, {elements, a.rows, a.columns, step, 1});
  for (int64_t row = 0; row < a.rows; ++row) round(elements + row * step, a.columns);
}

/// c = alpha sums + added for a whole tile in dense rows. No loop is left over, so that the sums
/// stay in registers.
template <int rows, bool wide>
HWY_INLINE void store_whole(Scalar alpha, const Vector (&left)[rows], const Vector (&right)[rows],
                            Addend added, const Matrix& c) {
  const Vector factor = constant(alpha);
  auto store = [&](auto rest) HWY_ATTR {
    Scalar* to = c.data;
    for (int row = 0; row < rows; ++row, to += c.row_stride) {
      hn::StoreU(hn::MulAdd(factor, left[row], rest(row, 0)), Lanes(), to);
      if constexpr (wide)
        hn::StoreU(hn::MulAdd(factor, right[row], rest(row, lanes)), Lanes(), to + lanes);
    }
  };
  if (added.beta == 0) return store([](int, int64_t) HWY_ATTR { return hn::Zero(Lanes()); });
  const ConstMatrix old = added.in(c);
  const Vector kept = constant(added.beta);
  store([&](int row, int64_t column) HWY_ATTR {
    return hn::Mul(kept, hn::LoadU(Lanes(), old.data + row * old.row_stride + column));
  });
}

/// c = alpha sums + added for a tile at an edge, or at other strides.
template <int rows>
HWY_INLINE void store_part(Scalar alpha, const Vector (&left)[rows], const Vector (&right)[rows],
                           Addend added, const Matrix& c) {
  const ConstMatrix old = added.in(c);
  HWY_ALIGN Scalar sums[rows][product_columns];
  for (int row = 0; row < rows; ++row) {
    hn::Store(left[row], Lanes(), sums[row]);
    hn::Store(right[row], Lanes(), sums[row] + lanes);
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < c.columns; column += lanes) {
      const int64_t count = std::min(lanes, c.columns - column);
      store_sums(alpha, hn::Load(Lanes(), sums[row] + column), added.beta,
                 old.block(row, 1, column, count), c.block(row, 1, column, count));
    }
}

/// c = alpha a b + added for an a of `rows` rows at any strides, all sums in registers. Three rows
/// share a pointer: their places are what the CPU's addresses can express.
template <int rows, bool wide = true>
HWY_INLINE void multiply_rows(const ConstMatrix& a, const Scalar* b, int64_t step, Scalar alpha,
                              Addend added, const Matrix& c) {
  Vector left[rows], right[rows];
  for (int row = 0; row < rows; ++row) left[row] = right[row] = hn::Zero(Lanes());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < c.columns; column += lanes) hwy::Prefetch(&c.at(row, column));
  const Scalar* thirds[(rows + 2) / 3];
  for (int64_t row = 0; row < rows; row += 3) thirds[row / 3] = a.data + row * a.row_stride;
  const int64_t steps[3] = {0, a.row_stride, 2 * a.row_stride};
  // The next tile's numbers follow if the rows of a, or panels of it, lie one behind another, and
  // lie beside these if its columns are dense.
  const Scalar* ahead = a.data + rows * a.row_stride;
  const int64_t pace = a.row_stride == 1 ? std::max(lanes, a.column_stride) : lanes;
  for (int64_t n = 0; n < a.columns; ++n, b += step, ahead += pace) {
    hwy::Prefetch(ahead);
    hwy::Prefetch(b + prefetched * step);
    hwy::Prefetch(b + prefetched * step + lanes);
    const Vector b_left = hn::LoadU(Lanes(), b);
    Vector b_right;
    if constexpr (wide) b_right = hn::LoadU(Lanes(), b + lanes);
    for (int row = 0; row < rows; ++row) {
      const Vector shared = constant(thirds[row / 3][steps[row % 3]]);
      left[row] = hn::MulAdd(shared, b_left, left[row]);
      if constexpr (wide) right[row] = hn::MulAdd(shared, b_right, right[row]);
    }
    for (const Scalar*& third : thirds) third += a.column_stride;
  }
  if (c.columns == (wide ? product_columns : lanes) && c.column_stride == 1)
    store_whole<rows, wide>(alpha, left, right, added, c);
  else
    store_part<rows>(alpha, left, right, added, c);
}

/// Multiplies pieces of `rows` rows while there are as many, and the rest in powers of two.
template <int rows, bool wide>
HWY_INLINE void multiply_pieces(ConstMatrix a, const Scalar* b, int64_t step, Scalar alpha,
                                Addend added, Matrix c) {
  while (c.rows >= rows) {
    multiply_rows<rows, wide>(a, b, step, alpha, added, c);
    a = a.rows_from(rows, a.rows - rows), c = c.rows_from(rows, c.rows - rows);
  }
  constexpr int rest = static_cast<int>(std::bit_floor(static_cast<unsigned>(rows - 1)));
  if constexpr (rest > 0) multiply_pieces<rest, wide>(a, b, step, alpha, added, c);
}

void multiply(const ConstMatrix& a, const Scalar* b, int64_t step, Scalar alpha, Addend added,
              const Matrix& c) {
  if (c.columns > lanes) return multiply_pieces<product_rows, true>(a, b, step, alpha, added, c);
  multiply_pieces<product_rows, false>(a, b, step, alpha, added, c);
}

void multiply_row(const ConstMatrix& a, const Scalar* b, Scalar alpha, Addend added,
                  const Matrix& c) {
  for (int64_t column = 0; column < c.columns; column += product_columns)
    multiply_rows<1>(a, b + column * a.columns, product_columns, alpha, added.columns_from(column),
                     c.columns_from(column, std::min(product_columns, c.columns - column)));
}

const PanelKernel<Scalar>& vector_kernel() {
  static constexpr PanelKernel<Scalar> kernel = {.tile_rows = product_rows,
                                                 .tile_columns = product_columns,
                                                 .part_columns = lanes,
                                                 .numbers = 1,
                                                 .pack_left = pack<product_rows>,
                                                 .pack_right = pack<product_columns>,
                                                 .multiply = multiply,
                                                 .pack_row = pack<1>,
                                                 .multiply_row = multiply_row};
  return kernel;
}

const PanelKernel<Scalar>& rounding_kernel() {
  static const PanelKernel<Scalar> kernel = [] {
    PanelKernel<Scalar> rounding = HWY_NAMESPACE::vector_kernel();
    rounding.pack_left = pack_rounded<product_rows>;
    rounding.pack_right = pack_rounded<product_columns>;
    rounding.pack_row = pack_rounded<1>;
    rounding.convert = convert_rounded;
    return rounding;
  }();
  return kernel;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::simd {

SHIFTGRAD_DISPATCH(vector_kernel);
SHIFTGRAD_DISPATCH(rounding_kernel);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd

#endif
