#pragma once

// The part of bfloat16 products that is written in the CPU's own instructions: packing operands
// into panels, and multiplying two panels into a tile of the result.
//
// A bfloat16 instruction multiplies pairs: each lane of a sum gets a₀ b₀ + a₁ b₁. So a panel holds
// pairs of numbers that follow one another in depth, the direction of the sum. A panel of a has the
// pairs of 12 rows, and a panel of b those of 32 columns; for each pair of depths they lie side by
// side. What is missing at the edges is 0.
//
// Another kind of unit, such as AMX, would have a file like this of its own.

#include <cstdint>

#include "shiftgrad/core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Two bfloat16 numbers, the first in the lower half.
using Bfloat16Pair = uint32_t;

/// The rows and columns of c that one tile computes; core/README.md says why these.
inline constexpr int64_t tile_rows = 12, tile_columns = 32;

/// The functions below, made for one kind of CPU.
struct Bfloat16Kernel {
  /// Rounds the columns of aᵀ, [depth, rows], into panels of `tile_rows`, one behind another.
  void (*pack_left)(const ConstMatrix& transposed, Bfloat16Pair* panels);
  /// Rounds the columns of b, [depth, columns], into panels of `tile_columns`.
  void (*pack_right)(const ConstMatrix& b, Bfloat16Pair* panels);
  /// c = alpha a b + beta c for panels of so many pairs; c is a tile, or less at the edges.
  void (*multiply)(int64_t pairs, const Bfloat16Pair* a, const Bfloat16Pair* b, Scalar alpha,
                   Scalar beta, const Matrix& c);

  /// Rounds an a of one row, as a column of aᵀ, into a panel of that row alone.
  void (*pack_row)(const ConstMatrix& transposed, Bfloat16Pair* panel);
  /// c = alpha a b + beta c for a c of one row, with as many panels of b as it needs. It is bound
  /// by reading b.
  void (*multiply_row)(int64_t pairs, const Bfloat16Pair* a, const Bfloat16Pair* b, Scalar alpha,
                       Scalar beta, const Matrix& c);
};

/// The kernel for this CPU, or null if it has no instructions for bfloat16.
const Bfloat16Kernel* bfloat16_kernel();

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
