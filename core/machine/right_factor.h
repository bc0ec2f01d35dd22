#pragma once

#include <memory>

#include "core/machine/matrix.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The right factor b of many products a b, prepared once for all of them. Where products round
/// floats to bfloat16, it is rounded and packed now, and nothing of b itself is kept. Elsewhere it
/// is a view, and b must not change.
class RightFactor {
 public:
  explicit RightFactor(const ConstMatrix& b);

  /// Computes c = alpha a b + beta c, each element with the bits that `gemm` gave it when the
  /// factor was made.
  void gemm(Scalar alpha, const ConstMatrix& a, Scalar beta, const Matrix& c,
            Threads threads = Threads::one) const;

 private:
  struct Rounded;

  ConstMatrix b_;  // its sizes alone count where it is rounded
  std::shared_ptr<const Rounded> rounded_{};
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
