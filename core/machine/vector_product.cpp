// Products in builds that have no BLAS.

#include "core/machine/blas.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void unrounded_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                    Threads threads) {
  panel_gemm(alpha, a, b, added, c, threads);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
