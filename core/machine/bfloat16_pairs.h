#pragma once

// Pairs of bfloat16 numbers in AVX512_BF16's vectors: what the kernels for such CPUs share. It is
// for x86-64 and floats alone.

#include "core/machine/kernels.h"

// GCC 12 takes the undefined vectors of its own header for a mistake.
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

// These functions alone are compiled for AVX512_BF16: a CPU without it never calls one. A template
// of the standard library must not be used in them, since its code might serve others as well.
#define FOR_BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define INLINE_FOR_BFLOAT16 FOR_BFLOAT16 __attribute__((always_inline)) inline

namespace shiftgrad::SHIFTGRAD_PRECISION::bfloat16_pairs {

/// Two bfloat16 numbers, the first in the lower half: an element of a panel. They follow one
/// another in depth. An instruction multiplies pairs: each lane of a sum gets a₀ b₀ + a₁ b₁.
using Pair = uint32_t;
constexpr int64_t lanes = 16;  // floats or pairs in a vector

/// The pairs that elements are.
inline Pair* pairs_in(Scalar* elements) { return reinterpret_cast<Pair*>(elements); }
inline const Pair* pairs_in(const Scalar* elements) {
  return reinterpret_cast<const Pair*>(elements);
}

/// The mask of the first `count` lanes, for any count.
FOR_BFLOAT16 inline __mmask16 first_lanes(int64_t count) {
  if (count <= 0) return 0;
  return count >= lanes ? __mmask16(0xffff) : __mmask16((1u << count) - 1);
}

/// Rounds two vectors to bfloat16: `low` fills the lower 16 places, `high` the upper ones.
FOR_BFLOAT16 inline __m512i rounded(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

/// Turns the vector of 16 first and 16 second numbers into 16 pairs.
FOR_BFLOAT16 inline __m512i paired(__m512i numbers) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, numbers);
}

/// Transposes 16 vectors of 16 pairs, which stay in registers.
INLINE_FOR_BFLOAT16 void transpose(__m512i (&v)[lanes]) {
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
/// `width` apart from one depth to the next. `filled` columns are written, missing ones as 0.
FOR_BFLOAT16 inline void pack_dense_columns(const ConstMatrix& b, int64_t filled, Pair* to,
                                            int64_t width) {
  const int64_t pairs = (b.rows + 1) / 2;
  const __mmask16 written = first_lanes(filled);
  for (int64_t pair = 0; pair < pairs; pair += lanes) {
    const __mmask16 low = first_lanes(b.rows - 2 * pair);
    const __mmask16 high = first_lanes(b.rows - 2 * pair - lanes);
    __m512i block[lanes];
    for (int64_t column = 0; column < lanes; ++column) {
      if (column < b.columns) {
        const Scalar* from = b.data + column * b.column_stride + 2 * pair;
        const Scalar* later = from + lanes * b.column_stride;
        _mm_prefetch(reinterpret_cast<const char*>(later), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(later + lanes), _MM_HINT_T0);
        block[column] =
            rounded(_mm512_maskz_loadu_ps(low, from), _mm512_maskz_loadu_ps(high, from + lanes));
      } else {
        block[column] = _mm512_setzero_si512();
      }
    }
    transpose(block);
    const int64_t count = pairs - pair < lanes ? pairs - pair : lanes;
    for (int64_t n = 0; n < count; ++n)
      _mm512_mask_storeu_epi32(to + (pair + n) * width, written, block[n]);
  }
}

/// Rounds numbers that lie side by side to pairs of neighbours; the partner of a last one is 0.
FOR_BFLOAT16 inline void pair_neighbours(const Scalar* from, int64_t count, Pair* pairs) {
  int64_t n = 0;
  for (; n + 2 * lanes <= count; n += 2 * lanes)
    _mm512_storeu_si512(pairs + n / 2,
                        rounded(_mm512_loadu_ps(from + n), _mm512_loadu_ps(from + n + lanes)));
  if (n < count)
    _mm512_mask_storeu_epi32(
        pairs + n / 2, first_lanes((count - n + 1) / 2),
        rounded(_mm512_maskz_loadu_ps(first_lanes(count - n), from + n),
                _mm512_maskz_loadu_ps(first_lanes(count - n - lanes), from + n + lanes)));
}

/// Pairs each number of one row with that of the next row, or with 0 where there is none.
FOR_BFLOAT16 inline void pair_rows(const Scalar* row, const Scalar* next, int64_t count,
                                   Pair* pairs) {
  int64_t n = 0;
  for (; next && n + lanes <= count; n += lanes)
    _mm512_storeu_si512(pairs + n,
                        paired(rounded(_mm512_loadu_ps(row + n), _mm512_loadu_ps(next + n))));
  for (; n < count; n += lanes) {
    const __mmask16 left = first_lanes(count - n);
    _mm512_mask_storeu_epi32(
        pairs + n, left,
        paired(rounded(_mm512_maskz_loadu_ps(left, row + n),
                       next ? _mm512_maskz_loadu_ps(left, next + n) : _mm512_setzero_ps())));
  }
}

/// The numbers of a row of b at these columns; missing ones are 0.
FOR_BFLOAT16 inline __m512 row_part(const ConstMatrix& b, int64_t row, int64_t column,
                                    __mmask16 columns) {
  if (row >= b.rows) return _mm512_setzero_ps();
  const Scalar* from = b.data + row * b.row_stride + column * b.column_stride;
  if (b.column_stride == 1) return _mm512_maskz_loadu_ps(columns, from);
  alignas(64) Scalar gathered[lanes] = {};
  for (int64_t n = 0; columns >> n; ++n) gathered[n] = from[n * b.column_stride];
  return _mm512_load_ps(gathered);
}

/// Packs the columns of b into a panel of `width`, row after row, best if the rows lie dense.
template <int64_t width>
FOR_BFLOAT16 void pack_by_rows(const ConstMatrix& b, Pair* to) {
  constexpr int64_t step = width < lanes ? width : lanes;
  int64_t row = 0;
  if (b.columns == width && width % lanes == 0 && b.column_stride == 1)
    for (const Scalar* from = b.data; row + 1 < b.rows; row += 2, to += width) {
      pair_rows(from, from + b.row_stride, width, to);
      from += 2 * b.row_stride;
    }
  for (; row < b.rows; row += 2, to += width)
    for (int64_t column = 0; column < width; column += step) {
      const __mmask16 columns = first_lanes(b.columns - column);
      _mm512_mask_storeu_epi32(to + column, first_lanes(step),
                               paired(rounded(row_part(b, row, column, columns),
                                              row_part(b, row + 1, column, columns))));
    }
}

/// Packs the columns of b into panels of `width`.
template <int64_t width>
FOR_BFLOAT16 void pack(const ConstMatrix& b, Scalar* elements) {
  const int64_t pairs = (b.rows + 1) / 2;
  Pair* panels = pairs_in(elements);
  for (int64_t first = 0; first < b.columns; first += width, panels += pairs * width) {
    const int64_t rest = b.columns - first;
    const ConstMatrix part = b.columns_from(first, rest < width ? rest : width);
    if (b.row_stride != 1 || b.column_stride == 1) {
      pack_by_rows<width>(part, panels);
      continue;
    }
    for (int64_t column = 0; column < width; column += lanes) {
      const int64_t filled = width - column < lanes ? width - column : lanes;
      int64_t count = part.columns - column;
      count = count < 0 ? 0 : count < filled ? count : filled;
      pack_dense_columns(part.columns_from(count > 0 ? column : 0, count), filled, panels + column,
                         width);
    }
  }
}

/// Packs a single row of a, given as a column of aᵀ: its pairs follow one another.
FOR_BFLOAT16 inline void pack_row(const ConstMatrix& transposed, Scalar* elements) {
  Pair* pairs = pairs_in(elements);
  if (transposed.row_stride == 1) return pair_neighbours(transposed.data, transposed.rows, pairs);
  alignas(64) Scalar gathered[2 * lanes];
  for (int64_t depth = 0; depth < transposed.rows; depth += 2 * lanes) {
    int64_t count = 0;
    for (; count < 2 * lanes && depth + count < transposed.rows; ++count)
      gathered[count] = transposed.data[(depth + count) * transposed.row_stride];
    pair_neighbours(gathered, count, pairs + depth / 2);
  }
}

/// Returns alpha sums + beta old.
INLINE_FOR_BFLOAT16 __m512 updated(__m512 alpha, __m512 sums, Scalar beta, __mmask16 columns,
                                   const Scalar* old) {
  if (beta == 0) return _mm512_mul_ps(alpha, sums);
  const __m512 rest = _mm512_mul_ps(_mm512_set1_ps(beta), _mm512_maskz_loadu_ps(columns, old));
  return _mm512_fmadd_ps(alpha, sums, rest);
}

/// row = alpha sums + beta old for up to 16 columns, of which the rows may have more.
FOR_BFLOAT16 inline void store_part(__m512 alpha, __m512 sums, Scalar beta, const ConstMatrix& old,
                                    const Matrix& row) {
  const __mmask16 columns = first_lanes(row.columns);
  if (row.column_stride == 1 && old.column_stride == 1) {
    _mm512_mask_storeu_ps(row.data, columns, updated(alpha, sums, beta, columns, old.data));
    return;
  }
  alignas(64) Scalar dense[lanes] = {};
  if (beta != 0)
    for (int64_t n = 0; n < row.columns && n < lanes; ++n) dense[n] = old.at(0, n);
  _mm512_store_ps(dense, updated(alpha, sums, beta, columns, dense));
  for (int64_t n = 0; n < row.columns && n < lanes; ++n) row.at(0, n) = dense[n];
}

/// Whether the CPU has these instructions.
inline bool can_be_used() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::bfloat16_pairs
