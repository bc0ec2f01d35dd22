// Products in builds that have no BLAS.

#include <algorithm>

#include "core/machine/blas.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

bool takes_panels(const ConstMatrix&, const Matrix& c) {
  return std::min(c.rows, c.columns) > thin_rows;
}

void unrounded_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                    Threads threads) {
  panel_gemm(alpha, a, b, added, c, threads);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
