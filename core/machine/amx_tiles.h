#pragma once

// AMX's tiles: 8 registers of 16 rows of 64 bytes, which are 16 floats or pairs of bfloat16
// numbers. It is for x86-64 and floats alone.

#include "core/machine/bfloat16_pairs.h"

namespace shiftgrad::SHIFTGRAD_PRECISION::amx {

using bfloat16_pairs::Pair;
/// The number of rows of a tile, and of floats or pairs in each.
constexpr int64_t side = 16;

// The compiler knows nothing of tiles. Each of these tells it what memory it touches.

template <int tile>
INLINE_FOR_BFLOAT16 void clear() {
  asm volatile("tilezero %%tmm%c0" ::"i"(tile));
}

/// Loads 16 rows that lie `step` elements apart.
template <int tile>
INLINE_FOR_BFLOAT16 void load(const Pair* from, int64_t step) {
  asm volatile("tileloadd (%0,%1), %%tmm%c2" ::"r"(from), "r"(step * int64_t{sizeof(Pair)}),
               "i"(tile)
               : "memory");
}

template <int tile>
INLINE_FOR_BFLOAT16 void store(Scalar* to, int64_t step) {
  asm volatile("tilestored %%tmm%c2, (%0,%1)" ::"r"(to), "r"(step * int64_t{sizeof(Scalar)}),
               "i"(tile)
               : "memory");
}

/// sums += a b
template <int sums, int a, int b>
INLINE_FOR_BFLOAT16 void multiply_add() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(b));
}

/// The shapes of the tiles, as the CPU reads and writes them.
struct alignas(64) TileShapes {
  uint8_t palette = 1, first_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  static constexpr TileShapes whole() {
    TileShapes shapes;
    for (int tile = 0; tile < 8; ++tile) {
      shapes.row_bytes[tile] = side * sizeof(Pair);
      shapes.rows[tile] = side;
    }
    return shapes;
  }
};

/// Makes all tiles of this thread whole ones, unless they are. Asking takes 7 ns and setting 100,
/// and other libraries may have set the thread's tiles since.
FOR_BFLOAT16 inline void shape_tiles() {
  static constexpr TileShapes whole = TileShapes::whole();
  TileShapes now;
  asm volatile("sttilecfg %0" : "=m"(now));
  const __m512i difference = _mm512_xor_si512(_mm512_load_si512(&now), _mm512_load_si512(&whole));
  if (_mm512_test_epi32_mask(difference, difference) != 0)
    asm volatile("ldtilecfg %0" ::"m"(whole));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::amx
