#pragma once

#include "core/machine/matrix.h"
#ifndef SHIFTGRAD_DOUBLE
#include <optional>

#include "core/machine/bfloat16_product.h"
#endif

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The right factor b of many products a b, prepared once for all of them. Where products round
/// floats to bfloat16, it is rounded and packed now. Elsewhere it is a view, and b must not change.
class RightFactor {
 public:
  explicit RightFactor(const ConstMatrix& b);

  /// Computes c = alpha a b + beta c as `gemm` does, on the calling thread.
  void gemm(Scalar alpha, const ConstMatrix& a, Scalar beta, const Matrix& c) const;
  /// Computes the same on all threads.
  void parallel_gemm(Scalar alpha, const ConstMatrix& a, Scalar beta, const Matrix& c) const;

 private:
  ConstMatrix b_;
#ifndef SHIFTGRAD_DOUBLE
  std::optional<Bfloat16Factor> rounded_;
#endif
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
