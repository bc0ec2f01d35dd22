// The kernel for pairs of bfloat16 numbers in vectors. A tile is 12 rows of a by 32 columns of b:
//
//                        32 columns of b, one pair of depths: 2 vectors
//                      [ b b b b b b b b | b b b b b b b b ]
//       12 rows   a  ->  + + + + + + + + | + + + + + + + +
//       of a,     a  ->  + + + + + + + + | + + + + + + + +     12 x 2 = 24 vectors of sums
//       one pair  …      …               | …
//       each      a  ->  + + + + + + + + | + + + + + + + +
//
// There are 32 registers: 24 sums, 2 vectors of b and one pair of a, repeated in all lanes. More
// rows or columns would not fit. Each sum waits some 6 cycles for its last addition, and Zen 5
// begins up to two instructions in a cycle, so 12 sums would keep the units busy, and 24 do so
// easily. A loop that stored its sums would first put all 24 into memory, the dearest mistake at a
// small depth.
//
// A step loads 2 vectors of b and 12 pairs of a for 24 instructions, 0.58 loads each, and a core
// makes two loads a cycle. A tile of 24 x 16 would need more than one load for each instruction.
// Tiles of 8 x 48 and 6 x 64 load a little less, but a head of 32 columns would leave a third or
// half of them empty.

#include "core/machine/kernels.h"

#if defined(__x86_64__) && !defined(SHIFTGRAD_DOUBLE)

#include <algorithm>

#include "core/machine/bfloat16_pairs.h"
#include "core/machine/cpu.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using namespace bfloat16_pairs;
/// The rows and columns of c that one tile computes.
constexpr int64_t tile_rows = 12, tile_columns = 32;
/// How far ahead of the pairs that it multiplies a panel of b is fetched: 4 KiB.
constexpr int64_t prefetched = 32 * tile_columns;

/// Rounds a to pairs of neighbours in rows, or to pairs of rows of aᵀ where those are dense.
FOR_BFLOAT16 void convert(const ConstMatrix& a, Scalar* elements, int64_t step) {
  if (has_dense_columns(a)) {
    const Scalar* column = a.data;
    Pair* pairs = pairs_in(elements);
    for (int64_t n = 0; n < a.columns; n += 2, column += 2 * a.column_stride, pairs += step)
      pair_rows(column, n + 1 < a.columns ? column + a.column_stride : nullptr, a.rows, pairs);
    return;
  }
  for (int64_t row = 0; row < a.rows; ++row)
    pack_row(a.rows_from(row, 1).transposed(), elements + row * step);
}

/// c = alpha sums + beta old for a whole tile in dense rows. No loop is left over, so that the sums
/// stay in registers.
template <int rows, int vectors>
INLINE_FOR_BFLOAT16 void store_whole(__m512 alpha, const __m512 (&sums)[rows * vectors],
                                     Scalar beta, const ConstMatrix& old, const Matrix& c) {
#pragma GCC unroll 32
  for (int n = 0; n < rows * vectors; ++n) {
    const int row = n / vectors, column = n % vectors * lanes;
    _mm512_storeu_ps(
        c.data + row * c.row_stride + column,
        updated(alpha, sums[n], beta, 0xffff, old.data + row * old.row_stride + column));
  }
}

/// c = alpha sums + beta old for a tile at an edge, or at other strides.
template <int rows, int vectors>
INLINE_FOR_BFLOAT16 void store_edge(__m512 alpha, const __m512 (&sums)[rows * vectors], Scalar beta,
                                    const ConstMatrix& old, const Matrix& c) {
  constexpr int columns = vectors * lanes;
  alignas(64) Scalar stored[rows][columns];
#pragma GCC unroll 32
  for (int n = 0; n < rows * vectors; ++n) _mm512_store_ps(stored[0] + n * lanes, sums[n]);
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns && column < columns; column += lanes) {
      const int64_t count = c.columns - column;
      store_part(alpha, _mm512_load_ps(stored[row] + column), beta,
                 old.block(row, 1, column, count), c.block(row, 1, column, count));
    }
}

/// c = alpha a b + added for `rows` rows of a, of which c may lack some, and for `vectors` vectors
/// of a panel of b. All sums are in registers. Three rows share a pointer: their places are what
/// the CPU's addresses can express.
template <int rows, int vectors>
FOR_BFLOAT16 void multiply_rows(const ConstMatrix& a, const Pair* b, Scalar alpha, Addend added,
                                const Matrix& c) {
  __m512 sums[rows * vectors];
#pragma GCC unroll 32
  for (int n = 0; n < rows * vectors; ++n) sums[n] = _mm512_setzero_ps();
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < vectors * lanes; column += lanes)
      _mm_prefetch(reinterpret_cast<const char*>(&c.at(row, column)), _MM_HINT_T0);
  const Pair* thirds[(rows + 2) / 3];
  for (int64_t row = 0; row < rows; row += 3)
    thirds[row / 3] = pairs_in(a.data) + row * a.row_stride;
  const int64_t steps[3] = {0, a.row_stride, 2 * a.row_stride};
  for (int64_t pair = 0; pair < a.columns; ++pair, b += tile_columns) {
    for (int vector = 0; vector < vectors; ++vector)
      _mm_prefetch(reinterpret_cast<const char*>(b + prefetched + vector * lanes), _MM_HINT_T0);
    __m512bh right[vectors];
    for (int vector = 0; vector < vectors; ++vector)
      right[vector] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + vector * lanes));
#pragma GCC unroll 32
    for (int n = 0; n < rows * vectors; ++n) {
      const int row = n / vectors;
      const Pair number = thirds[row / 3][steps[row % 3]];
      const __m512bh left = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(number)));
      sums[n] = _mm512_dpbf16_ps(sums[n], left, right[n % vectors]);
    }
    for (const Pair*& third : thirds) third += a.column_stride;
  }
  const __m512 factor = _mm512_set1_ps(alpha);
  if (c.rows != rows || c.columns < vectors * lanes || c.column_stride != 1)
    store_edge<rows, vectors>(factor, sums, added.beta, added.in(c), c);
  else if (added.beta == 0)
    store_whole<rows, vectors>(factor, sums, 0, c, c);
  else
    store_whole<rows, vectors>(factor, sums, added.beta, added.in(c), c);
}

/// Computes the same for as many rows as c has, at most those of a tile.
template <int vectors>
FOR_BFLOAT16 void multiply_columns(const ConstMatrix& a, const Pair* b, Scalar alpha, Addend added,
                                   const Matrix& c) {
  if (c.rows <= 4) return multiply_rows<4, vectors>(a, b, alpha, added, c);
  if (c.rows <= 8) return multiply_rows<8, vectors>(a, b, alpha, added, c);
  multiply_rows<tile_rows, vectors>(a, b, alpha, added, c);
}

FOR_BFLOAT16 void multiply(const ConstMatrix& a, const Scalar* b, int64_t /*step*/, Scalar alpha,
                           Addend added, const Matrix& c) {
  if (c.columns <= lanes) return multiply_columns<1>(a, pairs_in(b), alpha, added, c);
  multiply_columns<2>(a, pairs_in(b), alpha, added, c);
}

/// Multiplies one row with four panels at a time, each of which is in another part of b: so each is
/// a long run of memory, which is fetched 2 KiB ahead of where it is read.
FOR_BFLOAT16 void multiply_row(const ConstMatrix& a, const Scalar* panels, Scalar alpha,
                               Addend added, const Matrix& c) {
  constexpr int64_t streams = 4, ahead = 16 * tile_columns;
  const __m512 factor = _mm512_set1_ps(alpha);
  const int64_t count = divide_up(c.columns, tile_columns), share = divide_up(count, streams);
  for (int64_t first = 0; first < share; ++first) {
    const Pair* from[streams];  // the last panel stands in for those that are missing
    __m512 sums[streams][2];
    for (int64_t n = 0; n < streams; ++n) {
      from[n] =
          pairs_in(panels) + std::min(n * share + first, count - 1) * a.columns * tile_columns;
      sums[n][0] = sums[n][1] = _mm512_setzero_ps();
    }
    for (int64_t pair = 0; pair < a.columns; ++pair) {
      const auto left =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(pairs_in(a.data)[pair])));
      for (int64_t n = 0; n < streams; ++n, from[n - 1] += tile_columns)
        for (int64_t half = 0; half < 2; ++half) {
          const Pair* right = from[n] + half * lanes;
          _mm_prefetch(reinterpret_cast<const char*>(right + ahead), _MM_HINT_T0);
          sums[n][half] = _mm512_dpbf16_ps(sums[n][half], left,
                                           reinterpret_cast<__m512bh>(_mm512_loadu_si512(right)));
        }
    }
    for (int64_t n = 0; n < 2 * streams; ++n) {
      const int64_t column = (n / 2 * share + first) * tile_columns + n % 2 * lanes;
      if (column >= c.columns) break;
      const Matrix part = c.columns_from(column, c.columns - column);
      store_part(factor, sums[n / 2][n % 2], added.beta, added.columns_from(column).in(part), part);
    }
  }
}

constexpr PanelKernel kernel = {.tile_rows = tile_rows,
                                .tile_columns = tile_columns,
                                .part_columns = lanes,
                                .numbers = 2,
                                .pack_left = pack<tile_rows>,
                                .pack_right = pack<tile_columns>,
                                .multiply = multiply,
                                .pack_row = pack_row,
                                .multiply_row = multiply_row,
                                .convert = convert};

}  // namespace

const PanelKernel* bfloat16_kernel() {
  // On Intel's Emerald Rapids, a core makes 88 GF/s with this instruction and 179 with floats.
  constinit static KeptAnswer fits;
  return fits([] { return can_be_used() && !is_intel(); }) ? &kernel : nullptr;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#else

namespace shiftgrad::SHIFTGRAD_PRECISION {

const PanelKernel* bfloat16_kernel() { return nullptr; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#endif
