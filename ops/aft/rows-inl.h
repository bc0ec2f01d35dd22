// Rows of pairs: what den and num of each key or query are made of.
//
// A kernel includes this once for each instruction set, so there is no guard.

#include <algorithm>

#include "core/machine/allocator.h"
#include "core/machine/matrix.h"
#include "ops/aft/vectors-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

/// What belongs to den and to num, for a vector of channels: the terms t and t v of a key, sums
/// over these, or the gradients of sums.
struct Pair {
  Vector den, num;

  HWY_INLINE void add(const Pair& x) {
    den += x.den;
    num += x.num;
  }
  HWY_INLINE void add(Number weight, const Pair& x) {
    den += weight * x.den;
    num += weight * x.num;
  }
  /// Returns the pair, but 0 where the weight is.
  HWY_INLINE Pair chosen_by(Vector weight) const {
    return {chosen(weight, den), chosen(weight, num)};
  }
};

/// For each vector of channels, the pairs of `count` keys or queries. Those of a key or query lie
/// side by side where they are a row of a matrix, which then begins with zeros.
struct PairRows {
  int64_t vectors, count, vector_step, row_step;
  CachedArray<Pair> pairs;

  PairRows(int64_t for_vectors, int64_t of_each, bool in_matrix)
      : vectors(for_vectors),
        count(of_each),
        vector_step(in_matrix ? 1 : of_each),
        row_step(in_matrix ? for_vectors : 1),
        pairs(for_vectors * of_each) {
    if (in_matrix) std::fill_n(pairs.data(), vectors * count, Pair{});
  }

  Pair* row(int64_t x, int64_t n) const { return pairs.data() + x * vector_step + n * row_step; }
  /// The matrix [count, 2 · lanes · vectors], where Numbers are Scalars.
  Matrix matrix() const {
    return Matrix::row_major(reinterpret_cast<Scalar*>(pairs.data()), count, 2 * lanes * vectors);
  }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
