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

#include "core/machine/cpu.h"
#include "core/machine/dispatch.h"
#include "core/machine/kernels.h"
#include "core/machine/parallel.h"
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
/// Whether this is an Intel CPU with AVX-512. It fetches dense columns 16 depths before it needs
/// them. Those that lie far apart push one another out of its first cache before the next tile
/// reads what is beside them, so that fetching that in advance is for nothing.
bool reads_by_depth() {
  constinit static KeptAnswer is_by_intel;
  return lanes * sizeof(Scalar) == 64 && is_by_intel(is_intel);
}

#ifdef SHIFTGRAD_DOUBLE
/// Doubles are never rounded.
HWY_INLINE Vector rounded(Vector value) { return value; }
#else
/// Rounds floats to the nearest whose lower half is 0, of two the even one. A carry may reach the
/// exponent, which then is right. A NaN gets a bit that no carry can lose.
HWY_INLINE Vector rounded(Vector value) {
  const hn::RebindToUnsigned<Lanes> bits;
  const auto whole = hn::BitCast(bits, value);
  const auto is_odd = hn::TestBit(whole, hn::Set(bits, 0x10000));
  const auto half = hn::IfThenElse(is_odd, hn::Set(bits, 0x8000), hn::Set(bits, 0x7fff));
  const auto nearest = hn::Add(whole, half);
  const auto quiet = hn::Or(whole, hn::Set(bits, 0x400000));
  const auto kept = hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(value)), quiet, nearest);
  return hn::BitCast(Lanes(), hn::And(kept, hn::Set(bits, 0xffff0000u)));
}
#endif

/// What packing does with numbers.
enum class Packs { as_they_are, rounded };

/// Copies n numbers that lie dense.
template <Packs packs>
HWY_INLINE void copy_run(const Scalar* from, Scalar* to, int64_t n) {
  if constexpr (packs == Packs::as_they_are) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(Scalar));
  } else {
    for_vectors(n, [&](auto access, int64_t i)
                       HWY_ATTR { access.store(rounded(access.load(from + i)), to + i); });
  }
}

/// Packs two or four columns of b, each of which has its numbers side by side, into their places of
/// a panel of `width`.
template <int64_t width, int64_t count, Packs packs>
HWY_INLINE void pack_dense_columns(const ConstMatrix& b, Scalar* panel) {
  HWY_ALIGN Scalar turned[lanes][count];
  for_vectors(b.rows, [&](auto access, int64_t depth) HWY_ATTR {
    auto column = [&](int64_t n) HWY_ATTR {
      const Scalar* from = b.data + n * b.column_stride + depth;
      hwy::Prefetch(from + product_columns * b.column_stride);
      const Vector numbers = access.load(from);
      return packs == Packs::rounded ? rounded(numbers) : numbers;
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
template <int64_t width, Packs packs>
HWY_INLINE void pack_columns(const ConstMatrix& b, Scalar* panel) {
  const bool dense = has_dense_columns(b);
  int64_t turned = 0;
  for (; dense && turned + 4 <= b.columns; turned += 4)
    pack_dense_columns<width, 4, packs>(b.columns_from(turned, 4), panel + turned);
  for (; dense && turned + 2 <= b.columns; turned += 2)
    pack_dense_columns<width, 2, packs>(b.columns_from(turned, 2), panel + turned);
  if (turned == width) return;
  const Scalar* row = b.data;
  Scalar* to = panel;
  for (int64_t depth = 0; depth < b.rows; ++depth, row += b.row_stride, to += width)
    for (int64_t column = turned; column < width; ++column)
      to[column] = column < b.columns ? row[column * b.column_stride] : 0;
  if constexpr (packs == Packs::rounded) copy_run<packs>(panel, panel, width * b.rows);
}

/// Packs panels whose rows lie side by side in b, row by row of b.
template <int64_t width, Packs packs>
HWY_INLINE void pack_dense_rows(const ConstMatrix& b, Scalar* panels) {
  for (int64_t depth = 0; depth < b.rows; ++depth, panels += width) {
    const Scalar* row = b.data + depth * b.row_stride;
    for (int64_t first = 0; first < b.columns; first += width)
      copy_run<packs>(row + first, panels + first * b.rows, width);
  }
}

/// Packs the columns of b into panels of `width`.
template <int64_t width, Packs packs = Packs::as_they_are>
void pack(const ConstMatrix& b, Scalar* panels) {
  int64_t first = 0;
  if (b.column_stride == 1) {
    first = b.columns / width * width;
    pack_dense_rows<width, packs>(b.columns_from(0, first), panels);
  }
  for (; first < b.columns; first += width)
    pack_columns<width, packs>(b.columns_from(first, std::min(width, b.columns - first)),
                               panels + first * b.rows);
}

/// Copies a to rows, or columns if those of a are dense, `step` apart, and rounds it.
void convert_rounded(const ConstMatrix& a, Scalar* elements, int64_t step) {
  if (has_dense_columns(a)) return convert_rounded(a.transposed(), elements, step);
  for (int64_t row = 0; row < a.rows; ++row, elements += step) {
    const ConstMatrix from = a.rows_from(row, 1);
    if (a.column_stride != 1) copy_matrix(from, {elements, 1, a.columns, step, 1});
    copy_run<Packs::rounded>(a.column_stride == 1 ? from.data : elements, elements, a.columns);
  }
}

/// Rounded panels of half the size: an element has the numbers of two columns that lie a vector
/// apart, the first one's in its upper half.
///
///     element n of a depth    | column n | column n + lanes |
struct Halves {
  static constexpr int64_t width = lanes;  // elements of a depth
  using Bits = hn::RebindToUnsigned<Lanes>;
  static HWY_INLINE auto upper() { return hn::Set(Bits(), ~hn::TFromD<Bits>{0} << bits); }

  static HWY_INLINE Vector left(const Scalar* b) {
    return hn::And(hn::LoadU(Lanes(), b), hn::BitCast(Lanes(), upper()));
  }
  static HWY_INLINE Vector right(const Scalar* b) {
    return hn::BitCast(Lanes(), hn::ShiftLeft<bits>(hn::BitCast(Bits(), hn::LoadU(Lanes(), b))));
  }
  static HWY_INLINE Vector joined(Vector left, Vector right) {
    const auto lower = hn::ShiftRight<bits>(hn::BitCast(Bits(), right));
    return hn::Or(left, hn::BitCast(Lanes(), lower));
  }

 private:
  static constexpr int bits = 4 * sizeof(Scalar);
};

/// Panels of numbers.
struct Numbers {
  static constexpr int64_t width = product_columns;
  static HWY_INLINE Vector left(const Scalar* b) { return hn::LoadU(Lanes(), b); }
  static HWY_INLINE Vector right(const Scalar* b) { return hn::LoadU(Lanes(), b + lanes); }
};

/// Rounds the columns of b and packs them into panels of halves.
void pack_halves(const ConstMatrix& b, Scalar* panels) {
  constexpr int64_t deep = 64;
  HWY_ALIGN Scalar rounded_part[deep * product_columns];
  for (int64_t first = 0; first < b.columns; first += product_columns) {
    const int64_t columns = std::min(product_columns, b.columns - first);
    for (int64_t depth = 0; depth < b.rows; depth += deep) {
      const ConstMatrix part = b.block(depth, std::min(deep, b.rows - depth), first, columns);
      pack<product_columns, Packs::rounded>(part, rounded_part);
      const Scalar* from = rounded_part;
      for (int64_t n = 0; n < part.rows; ++n, from += Numbers::width, panels += Halves::width)
        hn::StoreU(Halves::joined(Numbers::left(from), Numbers::right(from)), Lanes(), panels);
    }
  }
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
HWY_NOINLINE void store_part(Scalar alpha, const Scalar* sums, Addend added, const Matrix& c) {
  const ConstMatrix old = added.in(c);
  for (int64_t row = 0; row < c.rows; ++row, sums += product_columns)
    for (int64_t column = 0; column < c.columns; column += lanes) {
      const int64_t count = std::min(lanes, c.columns - column);
      store_sums(alpha, hn::Load(Lanes(), sums + column), added.beta,
                 old.block(row, 1, column, count), c.block(row, 1, column, count));
    }
}

/// c = alpha a b + added for an a of `rows` rows at any strides, all sums in registers. Three rows
/// share a pointer: their places are what the CPU's addresses can express.
template <class Panel, int rows, bool wide = true>
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
  // lie beside these if its columns are dense. By depth, the line of a column's last number is as
  // good as all of its lines.
  const bool by_depth = reads_by_depth() && a.row_stride == 1 && a.column_stride > lanes;
  const Scalar* ahead = by_depth ? &a.at(rows - 1, 16) : a.data + rows * a.row_stride;
  const int64_t pace = a.row_stride == 1 ? std::max(lanes, a.column_stride) : lanes;
  for (int64_t n = 0; n < a.columns; ++n, b += step, ahead += pace) {
    hwy::Prefetch(ahead);
    hwy::Prefetch(b + prefetched * step);
    if constexpr (Panel::width > lanes) hwy::Prefetch(b + prefetched * step + lanes);
    const Vector b_left = Panel::left(b);
    Vector b_right;
    if constexpr (wide) b_right = Panel::right(b);
    for (int row = 0; row < rows; ++row) {
      const Vector shared = constant(thirds[row / 3][steps[row % 3]]);
      left[row] = hn::MulAdd(shared, b_left, left[row]);
      if constexpr (wide) right[row] = hn::MulAdd(shared, b_right, right[row]);
    }
    for (const Scalar*& third : thirds) third += a.column_stride;
  }
  if (c.columns == (wide ? product_columns : lanes) && c.column_stride == 1)
    return store_whole<rows, wide>(alpha, left, right, added, c);
  HWY_ALIGN Scalar sums[rows][product_columns];
  for (int row = 0; row < rows; ++row) {
    hn::Store(left[row], Lanes(), sums[row]);
    hn::Store(right[row], Lanes(), sums[row] + lanes);
  }
  store_part(alpha, sums[0], added, c.rows_from(0, rows));
}

/// Multiplies pieces of `rows` rows while there are as many, and the rest in powers of two.
template <class Panel, int rows, bool wide>
HWY_INLINE void multiply_pieces(ConstMatrix a, const Scalar* b, int64_t step, Scalar alpha,
                                Addend added, Matrix c) {
  while (c.rows >= rows) {
    multiply_rows<Panel, rows, wide>(a, b, step, alpha, added, c);
    a = a.rows_from(rows, a.rows - rows), c = c.rows_from(rows, c.rows - rows);
  }
  constexpr int rest = static_cast<int>(std::bit_floor(static_cast<unsigned>(rows - 1)));
  if constexpr (rest > 0) multiply_pieces<Panel, rest, wide>(a, b, step, alpha, added, c);
}

template <class Panel>
void multiply(const ConstMatrix& a, const Scalar* b, int64_t step, Scalar alpha, Addend added,
              const Matrix& c) {
  if (c.columns > lanes)
    return multiply_pieces<Panel, product_rows, true>(a, b, step, alpha, added, c);
  multiply_pieces<Panel, product_rows, false>(a, b, step, alpha, added, c);
}

/// Multiplies one row with four panels at a time, each of which is in another part of b: so each is
/// a long run of memory, which the CPU fetches ahead of where it is read.
template <class Panel>
void multiply_row(const ConstMatrix& a, const Scalar* b, Scalar alpha, Addend added,
                  const Matrix& c) {
  constexpr int64_t streams = 4;
  const int64_t panels = divide_up(c.columns, product_columns), share = divide_up(panels, streams);
  for (int64_t first = 0; first < share; ++first) {
    const Scalar* from[streams];  // the last panel stands in for those that are missing
    Vector left[streams], right[streams];
    for (int64_t n = 0; n < streams; ++n) {
      from[n] = b + std::min(n * share + first, panels - 1) * a.columns * Panel::width;
      left[n] = right[n] = hn::Zero(Lanes());
    }
    for (int64_t depth = 0; depth < a.columns; ++depth) {
      const Vector shared = constant(a.data[depth]);
      for (int64_t n = 0; n < streams; ++n) {
        left[n] = hn::MulAdd(shared, Panel::left(from[n]), left[n]);
        right[n] = hn::MulAdd(shared, Panel::right(from[n]), right[n]);
        from[n] += Panel::width;
      }
    }
    for (int64_t n = 0; n < streams; ++n) {
      const int64_t column = (n * share + first) * product_columns;
      if (column >= c.columns) break;
      HWY_ALIGN Scalar sums[product_columns];
      hn::Store(left[n], Lanes(), sums);
      hn::Store(right[n], Lanes(), sums + lanes);
      store_part(alpha, sums, added.columns_from(column),
                 c.columns_from(column, std::min(product_columns, c.columns - column)));
    }
  }
}

/// How such a CPU cuts products. Emerald Rapids has 2 MiB of second cache, and its third is far
/// away. On one core, these blocks make products of models of 128 to 384 channels at 1.0 to 1.04
/// times the speed, and gradients of weights, whose factors stay in place, at 1.1 to 1.5 times.
/// Columns or rows that lie farther apart than half a page are faster packed.
constexpr PanelBlocks blocks_by_depth = {.depth = 512,
                                         .row_panels = 16,
                                         .column_panels = 12,
                                         .columns_in_place = 512,
                                         .rows_in_place = 512};

/// Returns the kernel that reads its matrices in blocks of these sizes.
constexpr PanelKernel kernel_for(const PanelBlocks& blocks) {
  return {.tile_rows = product_rows,
          .tile_columns = product_columns,
          .part_columns = lanes,
          .numbers = 1,
          .pack_left = pack<product_rows>,
          .pack_right = pack<product_columns>,
          .multiply = multiply<Numbers>,
          .pack_row = pack<1>,
          .multiply_row = multiply_row<Numbers>,
          .blocks = blocks};
}

constexpr PanelKernel rounding_kernel_for(const PanelBlocks& blocks) {
  PanelKernel rounding = kernel_for(blocks);
  rounding.left_panels = LeftPanels::as_it_lies;
  rounding.pack_left = nullptr;
  rounding.pack_right = pack<product_columns, Packs::rounded>;
  rounding.pack_row = pack<1, Packs::rounded>;
  rounding.convert = convert_rounded;
  return rounding;
}

/// The panels of such a task take 128 KiB on AVX2, runs of 32 KiB for each of the four streams.
constexpr PanelKernel compact_kernel_for(const PanelBlocks& blocks) {
  PanelKernel compact = rounding_kernel_for(blocks);
  compact.part_columns = product_columns;
  compact.columns_in_element = product_columns / Halves::width;
  compact.pack_right = pack_halves;
  compact.multiply = multiply<Halves>;
  compact.multiply_row = multiply_row<Halves>;
  compact.blocks.column_panels = 16;
  return compact;
}

const PanelKernel& vector_kernel() {
  static constexpr PanelKernel as_usual = kernel_for({}), by_depth = kernel_for(blocks_by_depth);
  return reads_by_depth() ? by_depth : as_usual;
}

const PanelKernel& rounding_kernel() {
  static constexpr PanelKernel as_usual = rounding_kernel_for({}),
                               by_depth = rounding_kernel_for(blocks_by_depth);
  return reads_by_depth() ? by_depth : as_usual;
}

const PanelKernel& compact_kernel() {
  static constexpr PanelKernel as_usual = compact_kernel_for({}),
                               by_depth = compact_kernel_for(blocks_by_depth);
  return reads_by_depth() ? by_depth : as_usual;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::simd {

SHIFTGRAD_DISPATCH(vector_kernel);
SHIFTGRAD_DISPATCH(rounding_kernel);
SHIFTGRAD_DISPATCH(compact_kernel);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd

#endif
