#pragma once

#include <functional>

#include "core/machine/blas.h"
#include "core/machine/matrix.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The right factor b of many products a b, packed once for all of them. Where products round
/// floats to bfloat16, nothing of b itself is kept. Elsewhere b must not change: products that take
/// no panels read it where it lies.
class RightFactor {
 public:
  /// Packs the matrix b.
  explicit RightFactor(const ConstMatrix& b);

  /// Whether a product c = a b reads the panels of a factor that is made now.
  static bool serves(const ConstMatrix& a, const Matrix& c);

  /// Computes c = alpha a b + added, each element with the bits that `gemm` gave it when the factor
  /// was made.
  void gemm(Scalar alpha, const ConstMatrix& a, Addend added, const Matrix& c,
            Threads threads = Threads::one) const;

 private:
  ConstMatrix b_;  // its sizes alone count where it is rounded
  bool rounded_;
  /// Multiplies with the panels of b, by the kernel that they are for.
  std::function<void(Scalar alpha, const ConstMatrix& a, Addend, const Matrix& c, Threads)>
      multiply_{};
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
