#pragma once

// The door to products of matrices given by strides. A transposed matrix is one with its strides
// swapped; it costs nothing. Factors that many products share are packed for these in
// core/machine/packed_product.h.

#include "core/machine/addend.h"
#include "core/machine/matrix.h"
#include "core/machine/parallel.h"
#include "core/machine/precision.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Computes c = alpha a b + beta c, where a is [m, k], b is [k, n] and c is [m, n], or adds a row
/// in place of beta c. A beta of 0 never reads c, and with k = 0 the product is zero. Strides are
/// free; the elements of c must not overlap each other, a or b. In the precision bfloat16, floats
/// are rounded first (to nearest, ties to even; NaN and infinities stay). On all threads, c is cut
/// into tiles, or its sums into parts where they are far longer than c is wide; where the cuts are
/// depends on the sizes only. Throws an Error if the sizes do not fit together, and if BLAS would
/// be given one beyond its 32-bit integers. (PyTorch: torch.addmm; BLAS: sgemm, dgemm)
void gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
          Threads threads = Threads::one, Precision precision = product_precision());

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
