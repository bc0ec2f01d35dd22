#pragma once

// The weighted sums of wide bands, as products of floats. With E = e^w [T, K], which is 0 where a
// query does not see the key, and the terms of a strip's channels as columns,
//
//     [den, num] = E [t, t v]       [Σ_i e^w dden, Σ_i e^w dnum] = Eᵀ [dden, dnum]
//     dw = E ⊙ [dden, dnum] [t, t v]ᵀ                        over the channels of all strips
//
// What lies beyond the causal diagonal is skipped where it fills whole panels. All terms are
// finite, so that a weight of 0 hides a key to the last bit.

#include <optional>
#include <vector>

#include "core/machine/packed_product.h"
#include "ops/aft/kernel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The factors E of all groups, and what one pass multiplies with them.
class AftProducts {
 public:
  /// What is multiplied: E forward, Eᵀ backward.
  enum class Pass { forward, backward };

  /// Whether the band is so wide that products are the faster way, and E is not much greater.
  static bool serve(const AftProblem& p) { return p.n >= 128 && 4 * p.n >= p.K; }

  AftProducts(const AftProblem& p, Pass pass);

  /// Whether all biases lie within the range of floats.
  bool fit() const { return fit_; }
  /// sums [T, n] = E terms [K, n], for these queries.
  void mix(const AftStrip& strip, Interval queries, const ConstMatrix& terms,
           const Matrix& sums) const;
  /// received [K, n] = Eᵀ passed [T, n]. Keeps the factors of what the biases get.
  void spread(const AftStrip& strip, const ConstMatrix& passed, const ConstMatrix& terms,
              const Matrix& received) const;
  /// Adds what the biases get to `sum` [G, T, n].
  void add_bias_gradient(const Tensor& sum) const;

 private:
  struct Factors {
    MatrixCopy passed;  // [T, n]
    Packed terms;       // [n, K]
  };

  const AftProblem& p_;
  bool fit_ = true;
  Band seen_{};                        // the keys that a query may see
  std::vector<MatrixCopy> weights_{};  // of each group: E [T, K]
  std::vector<Buffer> panels_{};       // and E packed
  std::vector<Factor> factors_{};
  mutable std::vector<std::optional<Factors>> kept_{};  // of each strip

  bool make_weights(int64_t group, int64_t i) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
