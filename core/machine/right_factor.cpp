#include "core/machine/right_factor.h"

#include "core/machine/blas.h"
#include "core/machine/precision.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

RightFactor::RightFactor(const ConstMatrix& b) : b_(b) {
#ifndef SHIFTGRAD_DOUBLE
  if (product_precision() == Precision::bfloat16) rounded_.emplace(b);
#endif
}

void RightFactor::gemm(Scalar alpha, const ConstMatrix& a, Scalar beta, const Matrix& c) const {
#ifndef SHIFTGRAD_DOUBLE
  if (rounded_) return rounded_->gemm(alpha, a, beta, c);
#endif
  unrounded_gemm(alpha, a, b_, beta, c);
}

void RightFactor::parallel_gemm(Scalar alpha, const ConstMatrix& a, Scalar beta,
                                const Matrix& c) const {
#ifndef SHIFTGRAD_DOUBLE
  if (rounded_) return rounded_->parallel_gemm(alpha, a, beta, c);
#endif
  parallel_unrounded_gemm(alpha, a, b_, beta, c);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
