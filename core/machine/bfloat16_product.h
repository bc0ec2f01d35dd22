#pragma once

// Products of floats that are rounded to bfloat16 first, a float's upper half: 8 bits of exponent
// and 8 of precision. A product of two such numbers is exact in float, and sums are kept in float.
// In the library of doubles, nothing is rounded.

#include "core/machine/blas.h"
#include "core/machine/matrix.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Whether products round floats now.
bool products_round();

/// Computes c = alpha a b + added, as `gemm` does, with the elements of a and b rounded to
/// bfloat16 (to nearest, ties to even; NaN and infinities stay). An element of c has the same bits
/// whatever the sizes, the strides and the number of threads. A CPU that multiplies pairs of
/// bfloat16 numbers faster than floats does that, and takes numbers below 1e-38 for 0. Others round
/// the operands as they pack them, and multiply them as floats. (PyTorch:
/// torch.set_float32_matmul_precision("medium"))
void bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                   Threads threads);

/// Whether bfloat16 products are faster than those of floats: they use the CPU's instructions for
/// them, AMX's tiles or the vectors of AVX512_BF16, if these multiply more numbers in a cycle than
/// the ones for floats do. The vectors do on AMD's Zen 4 and 5, and do not on Intel's Emerald
/// Rapids, which has AMX. Linux has to let a process use that; bfloat16 products ask it once.
bool has_fast_bfloat16_products();

/// Makes the whole process multiply rounded numbers as floats from now on, or by such instructions
/// again where the CPU has them. It is for tests.
void allow_fast_bfloat16_products(bool allowed);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
