#include "shiftgrad/core/machine/bfloat16_kernel.h"

#ifdef __x86_64__

// GCC 12 takes the undefined vectors of its own header for a mistake.
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

// These functions alone are compiled for AVX512_BF16: a CPU without it never calls one. A template
// of the standard library must not be used in them, since its code might serve others as well.
#define FOR_BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using Pair = Bfloat16Pair;
constexpr int64_t lanes = 16;  // floats or pairs in a vector

/// The mask of the first `count` lanes, for any count.
FOR_BFLOAT16 __mmask16 first_lanes(int64_t count) {
  if (count <= 0) return 0;
  return count >= lanes ? __mmask16(0xffff) : __mmask16((1u << count) - 1);
}

/// Rounds two vectors to bfloat16: `low` fills the lower 16 places, `high` the upper ones.
FOR_BFLOAT16 __m512i rounded(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

/// Turns the vector of 16 first and 16 second numbers into 16 pairs.
FOR_BFLOAT16 __m512i paired(__m512i numbers) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, numbers);
}

/// Transposes 16 vectors of 16 pairs.
FOR_BFLOAT16 void transpose(__m512i (&v)[lanes]) {
  __m512i two[lanes], four[lanes];
  for (int i = 0; i < 16; i += 2) {
    two[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    two[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  // The quarter q of four[i + j] has column 4 q + j of four rows.
  for (int i = 0; i < 16; i += 4) {
    four[i] = _mm512_unpacklo_epi64(two[i], two[i + 2]);
    four[i + 1] = _mm512_unpackhi_epi64(two[i], two[i + 2]);
    four[i + 2] = _mm512_unpacklo_epi64(two[i + 1], two[i + 3]);
    four[i + 3] = _mm512_unpackhi_epi64(two[i + 1], two[i + 3]);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512i even_up = _mm512_shuffle_i32x4(four[j], four[4 + j], 0x88);
    const __m512i odd_up = _mm512_shuffle_i32x4(four[j], four[4 + j], 0xdd);
    const __m512i even_down = _mm512_shuffle_i32x4(four[8 + j], four[12 + j], 0x88);
    const __m512i odd_down = _mm512_shuffle_i32x4(four[8 + j], four[12 + j], 0xdd);
    v[j] = _mm512_shuffle_i32x4(even_up, even_down, 0x88);
    v[4 + j] = _mm512_shuffle_i32x4(odd_up, odd_down, 0x88);
    v[8 + j] = _mm512_shuffle_i32x4(even_up, even_down, 0xdd);
    v[12 + j] = _mm512_shuffle_i32x4(odd_up, odd_down, 0xdd);
  }
}

/// Packs up to 16 columns of b, of which each has its numbers side by side, into pairs that lie
/// `step` apart from one depth to the next. `filled` columns are written, missing ones as 0.
FOR_BFLOAT16 void pack_dense_depth(const ConstMatrix& b, int64_t filled, Pair* to, int64_t step) {
  const int64_t pairs = (b.rows + 1) / 2;
  const __mmask16 written = first_lanes(filled);
  for (int64_t pair = 0; pair < pairs; pair += lanes) {
    const __mmask16 low = first_lanes(b.rows - 2 * pair);
    const __mmask16 high = first_lanes(b.rows - 2 * pair - lanes);
    __m512i block[lanes];
    for (int64_t column = 0; column < lanes; ++column) {
      if (column < b.columns) {
        const Scalar* from = b.data + column * b.column_stride + 2 * pair;
        block[column] =
            rounded(_mm512_maskz_loadu_ps(low, from), _mm512_maskz_loadu_ps(high, from + lanes));
      } else {
        block[column] = _mm512_setzero_si512();
      }
    }
    transpose(block);
    const int64_t count = pairs - pair < lanes ? pairs - pair : lanes;
    for (int64_t n = 0; n < count; ++n)
      _mm512_mask_storeu_epi32(to + (pair + n) * step, written, block[n]);
  }
}

/// The numbers of one row of b, which lie `b.column_stride` apart.
FOR_BFLOAT16 __m512 row_of(const ConstMatrix& b, int64_t row, __mmask16 columns) {
  if (row >= b.rows) return _mm512_setzero_ps();
  const Scalar* from = b.data + row * b.row_stride;
  if (b.column_stride == 1) return _mm512_maskz_loadu_ps(columns, from);
  alignas(64) Scalar gathered[lanes] = {};
  for (int64_t n = 0; n < b.columns; ++n) gathered[n] = from[n * b.column_stride];
  return _mm512_load_ps(gathered);
}

/// Does the same for numbers that lie anywhere, best if those of a row lie side by side.
FOR_BFLOAT16 void pack_by_rows(const ConstMatrix& b, int64_t filled, Pair* to, int64_t step) {
  const __mmask16 columns = first_lanes(b.columns), written = first_lanes(filled);
  for (int64_t row = 0; row < b.rows; row += 2)
    _mm512_mask_storeu_epi32(to + row / 2 * step, written,
                             paired(rounded(row_of(b, row, columns), row_of(b, row + 1, columns))));
}

/// Packs the columns of b into panels of `width`.
template <int64_t width>
FOR_BFLOAT16 void pack(const ConstMatrix& b, Pair* panels) {
  const int64_t pairs = (b.rows + 1) / 2;
  for (int64_t first = 0; first < b.columns; first += width, panels += pairs * width)
    for (int64_t part = 0; part < width; part += lanes) {
      const int64_t filled = width - part < lanes ? width - part : lanes;
      int64_t count = b.columns - first - part;
      count = count < 0 ? 0 : count < filled ? count : filled;
      const ConstMatrix columns{b.data + (count > 0 ? (first + part) * b.column_stride : 0), b.rows,
                                count, b.row_stride, b.column_stride};
      if (b.row_stride == 1 && b.column_stride != 1)
        pack_dense_depth(columns, filled, panels + part, width);
      else
        pack_by_rows(columns, filled, panels + part, width);
    }
}

FOR_BFLOAT16 void pack_rows(const ConstMatrix& a, Pair* panels) {
  pack<tile_rows>({a.data, a.columns, a.rows, a.column_stride, a.row_stride}, panels);
}

FOR_BFLOAT16 void pack_columns(const ConstMatrix& b, Pair* panels) {
  pack<tile_columns>(b, panels);
}

/// Returns alpha sums + beta c.
FOR_BFLOAT16 __m512 updated(__m512 alpha, __m512 sums, Scalar beta, __mmask16 columns,
                            const Scalar* c) {
  if (beta == 0) return _mm512_mul_ps(alpha, sums);
  const __m512 old = _mm512_mul_ps(_mm512_set1_ps(beta), _mm512_maskz_loadu_ps(columns, c));
  return _mm512_fmadd_ps(alpha, sums, old);
}

/// Adds the sums of half a row of the tile to c.
FOR_BFLOAT16 void store(__m512 alpha, __m512 sums, Scalar beta, Scalar* c, int64_t step,
                        int64_t count) {
  const __mmask16 columns = first_lanes(count);
  if (step == 1) {
    _mm512_mask_storeu_ps(c, columns, updated(alpha, sums, beta, columns, c));
  } else {
    alignas(64) Scalar dense[lanes] = {};
    if (beta != 0)
      for (int64_t n = 0; n < count && n < lanes; ++n) dense[n] = c[n * step];
    _mm512_store_ps(dense, updated(alpha, sums, beta, columns, dense));
    for (int64_t n = 0; n < count && n < lanes; ++n) c[n * step] = dense[n];
  }
}

/// c = alpha a b + beta c for the first `rows` rows of a's panel, all sums in registers.
template <int rows>
FOR_BFLOAT16 void multiply_rows(int64_t pairs, const Pair* a, const Pair* b, Scalar alpha,
                                Scalar beta, const Matrix& c) {
  for (int64_t row = 0; row < c.rows; ++row) {
    const Scalar* soon = c.data + row * c.row_stride;
    _mm_prefetch(reinterpret_cast<const char*>(soon), _MM_HINT_T0);
    if (c.columns > lanes)
      _mm_prefetch(reinterpret_cast<const char*>(soon + lanes * c.column_stride), _MM_HINT_T0);
  }
  __m512 left[rows], right[rows];
  for (int row = 0; row < rows; ++row) left[row] = right[row] = _mm512_setzero_ps();
  for (int64_t pair = 0; pair < pairs; ++pair, a += tile_rows, b += tile_columns) {
    const __m512bh b_left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b));
    const __m512bh b_right = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + lanes));
    for (int row = 0; row < rows; ++row) {
      const __m512bh shared =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[row])));
      left[row] = _mm512_dpbf16_ps(left[row], shared, b_left);
      right[row] = _mm512_dpbf16_ps(right[row], shared, b_right);
    }
  }
  const __m512 factor = _mm512_set1_ps(alpha);
  for (int row = 0; row < rows; ++row) {
    if (row >= c.rows) continue;
    Scalar* to = c.data + row * c.row_stride;
    store(factor, left[row], beta, to, c.column_stride, c.columns);
    if (c.columns > lanes)
      store(factor, right[row], beta, to + lanes * c.column_stride, c.column_stride,
            c.columns - lanes);
  }
}

FOR_BFLOAT16 void multiply(int64_t pairs, const Pair* a, const Pair* b, Scalar alpha, Scalar beta,
                           const Matrix& c) {
  if (c.rows <= 1) return multiply_rows<1>(pairs, a, b, alpha, beta, c);
  if (c.rows <= 4) return multiply_rows<4>(pairs, a, b, alpha, beta, c);
  if (c.rows <= 8) return multiply_rows<8>(pairs, a, b, alpha, beta, c);
  multiply_rows<tile_rows>(pairs, a, b, alpha, beta, c);
}

constexpr Bfloat16Kernel kernel = {pack_rows, pack_columns, multiply};

}  // namespace

const Bfloat16Kernel* bfloat16_kernel() {
  static const bool fits =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
  return fits ? &kernel : nullptr;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#else

namespace shiftgrad::SHIFTGRAD_PRECISION {

const Bfloat16Kernel* bfloat16_kernel() { return nullptr; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#endif
