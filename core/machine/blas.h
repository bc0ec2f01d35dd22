#pragma once

// c = alpha a b + beta c, for matrices given by strides. A transposed matrix is one with its
// strides swapped; it costs nothing.

#include "shiftgrad/core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// c = alpha a b + beta c on the calling thread, where a is [m, k], b is [k, n] and c is [m, n].
/// A beta of 0 never reads c, and with k = 0 the product is zero. Strides are free: a transposed
/// matrix is passed to BLAS as such, one that BLAS cannot express (no stride of 1, broadcast by a
/// stride of 0) is packed first. c's elements must not overlap each other, a or b. An Error if the
/// sizes do not fit together, or BLAS would be given one beyond its 32-bit integers.
/// (PyTorch: torch.addmm; BLAS: sgemm, dgemm)
void gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c);

/// How many multiplications are worth a thread: about 10 microseconds of one, where cutting the
/// work up costs one of them.
inline constexpr double worthwhile_products = 4e5;

/// The same on all threads: c is cut into tiles, or its sums into parts where they are far longer
/// than c is wide. What is cut where depends on the sizes only.
void parallel_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
