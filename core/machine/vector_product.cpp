// Products without BLAS, for builds that have none: the loop by panels with the kernel in vectors
// of any width.

#include "core/machine/blas.h"
#include "core/machine/packed_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void unrounded_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c,
                    Threads threads) {
  if (!has_products(a, b, beta, c) || multiply_thin(alpha, a, b, beta, c)) return;
  if (multiplications(a, c) < worthwhile_products) threads = Threads::one;
  packed_product(simd::vector_kernel(), threads, alpha, a, b, beta, c);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
