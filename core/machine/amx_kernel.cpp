// The kernel for pairs of bfloat16 numbers in AMX's tiles. One instruction multiplies a tile of a,
// 16 rows by 16 pairs, with one of b, 16 pairs by 16 columns, and adds the product to a tile of
// sums. Within such a step, it adds up the products of first numbers of pairs, those of second
// ones, and then both. It takes numbers below 1e-38 for 0, be they factors, products or sums.

#include "core/machine/kernels.h"

#if defined(__x86_64__) && !defined(SHIFTGRAD_DOUBLE)

#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "core/machine/amx_tiles.h"
#include "core/machine/bfloat16_pairs.h"
#include "core/machine/cpu.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using namespace bfloat16_pairs;
using namespace amx;
/// The rows and columns of c that are computed at once: 2 x 2 tiles, of sums, with two tiles of a
/// and two of b take all 8. A step loads as many tiles as it multiplies.
constexpr int64_t tile_rows = 2 * side, tile_columns = 2 * side;
/// The tiles: sums are number 2 (row of tiles) + (column of tiles).
constexpr int of_a = 4, of_b = 6;

/// Adds the products of one step.
template <bool two_rows, bool two_columns>
INLINE_FOR_BFLOAT16 void multiply_step(const Pair* a, int64_t a_step, const Pair* b) {
  load<of_b>(b, tile_columns);
  load<of_a>(a, a_step);
  multiply_add<0, of_a, of_b>();
  if constexpr (two_columns) {
    load<of_b + 1>(b + side, tile_columns);
    multiply_add<1, of_a, of_b + 1>();
  }
  if constexpr (two_rows) {
    load<of_a + 1>(a + side * a_step, a_step);
    multiply_add<2, of_a + 1, of_b>();
    if constexpr (two_columns) multiply_add<3, of_a + 1, of_b + 1>();
  }
}

/// Copies fewer than 16 pairs of each row, with 0 behind them.
FOR_BFLOAT16 void copy_rest_of_rows(const Pair* from, int64_t step, int64_t rows, int64_t pairs,
                                    Pair* to) {
  for (int64_t row = 0; row < rows; ++row, from += step, to += side)
    _mm512_store_si512(to, _mm512_maskz_loadu_epi32(first_lanes(pairs), from));
}

/// Copies fewer than 16 rows of a panel of b, with 0 below them.
FOR_BFLOAT16 void copy_rest_of_panel(const Pair* from, int64_t rows, Pair* to) {
  for (int64_t n = 0; n < side * tile_columns; n += lanes)
    _mm512_store_si512(
        to + n, n < rows * tile_columns ? _mm512_loadu_si512(from + n) : _mm512_setzero_si512());
}

/// c = alpha sums + added for one tile of sums, of which c may be less.
template <int sums>
INLINE_FOR_BFLOAT16 void store_sums(Scalar alpha, Addend added, const Matrix& c) {
  if (alpha == 1 && added.beta == 0 && c.rows >= side && c.columns >= side && c.column_stride == 1)
    return store<sums>(c.data, c.row_stride);
  alignas(64) Scalar rows[side][side];
  store<sums>(rows[0], side);
  const __m512 factor = _mm512_set1_ps(alpha);
  const ConstMatrix old = added.in(c);
  if (c.rows >= side && c.columns >= side && c.column_stride == 1) {
    for (int64_t row = 0; row < side; ++row) {
      const __m512 sums_of_row = _mm512_load_ps(rows[row]);
      _mm512_storeu_ps(c.data + row * c.row_stride, updated(factor, sums_of_row, added.beta, 0xffff,
                                                            old.data + row * old.row_stride));
    }
    return;
  }
  for (int64_t row = 0; row < c.rows && row < side; ++row)
    store_part(factor, _mm512_load_ps(rows[row]), added.beta, old.rows_from(row, 1),
               c.rows_from(row, 1));
}

/// c = alpha a b + added for one or two tiles of rows and of columns.
template <bool two_rows, bool two_columns>
FOR_BFLOAT16 void multiply_tiles(const ConstMatrix& a, const Pair* b, Scalar alpha, Addend added,
                                 const Matrix& c) {
  const Pair* left = pairs_in(a.data);
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; column += side)
      _mm_prefetch(reinterpret_cast<const char*>(&c.at(row, column)), _MM_HINT_T0);
  clear<0>();
  if constexpr (two_columns) clear<1>();
  if constexpr (two_rows) clear<2>();
  if constexpr (two_rows && two_columns) clear<3>();
  int64_t depth = 0;
  for (; depth + side <= a.columns; depth += side)
    multiply_step<two_rows, two_columns>(left + depth, a.row_stride, b + depth * tile_columns);
  if (depth < a.columns) {
    alignas(64) Pair rest_of_a[tile_rows * side], rest_of_b[side * tile_columns];
    copy_rest_of_rows(left + depth, a.row_stride, two_rows ? tile_rows : side, a.columns - depth,
                      rest_of_a);
    copy_rest_of_panel(b + depth * tile_columns, a.columns - depth, rest_of_b);
    multiply_step<two_rows, two_columns>(rest_of_a, side, rest_of_b);
  }
  auto right = [](const Matrix& m) { return m.columns_from(side, m.columns - side); };
  store_sums<0>(alpha, added, c);
  if constexpr (two_columns) store_sums<1>(alpha, added.columns_from(side), right(c));
  if constexpr (two_rows) {
    const Matrix lower = c.rows_from(side, c.rows - side);
    store_sums<2>(alpha, added, lower);
    if constexpr (two_columns) store_sums<3>(alpha, added.columns_from(side), right(lower));
  }
}

/// c = alpha a b + added for an a whose rows lie dense.
FOR_BFLOAT16 void multiply(const ConstMatrix& a, const Scalar* panel, int64_t /*step*/,
                           Scalar alpha, Addend added, const Matrix& c) {
  const Pair* b = pairs_in(panel);
  shape_tiles();
  if (c.rows > side)
    (c.columns > side ? multiply_tiles<true, true> : multiply_tiles<true, false>)(a, b, alpha,
                                                                                  added, c);
  else
    (c.columns > side ? multiply_tiles<false, true> : multiply_tiles<false, false>)(a, b, alpha,
                                                                                    added, c);
}

/// Multiplies with a tile that has one row 16 times.
FOR_BFLOAT16 void multiply_row(const ConstMatrix& a, const Scalar* b, Scalar alpha, Addend added,
                               const Matrix& c) {
  const ConstMatrix row = {a.data, 1, a.columns, 0, 1};
  for (int64_t column = 0; column < c.columns; column += tile_columns)
    multiply(row, b + column * a.columns, tile_columns, alpha, added.columns_from(column),
             c.columns_from(column, c.columns - column));
}

/// Rounds up to 32 dense columns of a to pairs of neighbours in rows.
FOR_BFLOAT16 void transpose_columns(const ConstMatrix& a, Pair* pairs, int64_t step) {
  for (int64_t row = 0; row < a.rows; row += lanes) {
    const __mmask16 rows = first_lanes(a.rows - row);
    auto column = [&](int64_t n) FOR_BFLOAT16 {
      return n < a.columns ? _mm512_maskz_loadu_ps(rows, a.data + n * a.column_stride + row)
                           : _mm512_setzero_ps();
    };
    __m512i block[lanes];
    for (int64_t n = 0; n < lanes; ++n)
      block[n] = paired(rounded(column(2 * n), column(2 * n + 1)));
    transpose(block);
    for (int64_t n = 0; n < lanes && row + n < a.rows; ++n)
      _mm512_mask_storeu_epi32(pairs + (row + n) * step, first_lanes((a.columns + 1) / 2),
                               block[n]);
  }
}

/// Rounds a to pairs of neighbours in rows, whatever its strides.
FOR_BFLOAT16 void convert(const ConstMatrix& a, Scalar* elements, int64_t step) {
  if (has_dense_columns(a)) {
    for (int64_t column = 0; column < a.columns; column += 2 * lanes) {
      const int64_t rest = a.columns - column;
      transpose_columns(a.columns_from(column, rest < 2 * lanes ? rest : 2 * lanes),
                        pairs_in(elements) + column / 2, step);
    }
    return;
  }
  for (int64_t row = 0; row < a.rows; ++row)
    pack_row(a.rows_from(row, 1).transposed(), elements + row * step);
}

constexpr PanelKernel kernel = {.tile_rows = tile_rows,
                                .tile_columns = tile_columns,
                                .numbers = 2,
                                .depth_step = side,
                                .left_panels = LeftPanels::in_rows,
                                .pack_right = pack<tile_columns>,
                                .multiply = multiply,
                                .pack_row = pack_row,
                                .multiply_row = multiply_row,
                                .convert = convert};

/// Whether the CPU has tiles of bfloat16 numbers.
bool has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned tiles = 1u << 24, of_bfloat16 = 1u << 22;
  return (d & tiles) && (d & of_bfloat16);
}

/// Whether the system keeps the tiles of its threads apart.
bool keeps_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned asks_the_system = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & asks_the_system)) return false;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  constexpr unsigned shapes_and_tiles = 3u << 17;
  return (a & shapes_and_tiles) == shapes_and_tiles;
}

/// Asks Linux to let all threads of this process use tiles.
bool may_use_tiles() {
#ifdef __linux__
  constexpr long request = 0x1023, tiles = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request, tiles) == 0;
#else
  return false;
#endif
}

}  // namespace

const PanelKernel* amx_kernel() {
  constinit static KeptAnswer fits;
  return fits([] { return can_be_used() && has_tiles() && keeps_tiles() && may_use_tiles(); })
             ? &kernel
             : nullptr;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#else

namespace shiftgrad::SHIFTGRAD_PRECISION {

const PanelKernel* amx_kernel() { return nullptr; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#endif
