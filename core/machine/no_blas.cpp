// Products in builds that have no BLAS.

#include <algorithm>

#include "core/machine/blas.h"
#include "core/machine/packed_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

bool blas_is_faster(const ProductShape& shape) {
  return std::min(shape.rows, shape.columns) <= thin_rows;
}

void blas_product(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                  Threads threads) {
  if (!multiply_thin(alpha, a, b, added, c, threads))
    panel_product(panel_kernel(Precision::float32), alpha, a, b, added, c, threads);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
