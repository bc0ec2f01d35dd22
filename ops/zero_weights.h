#pragma once

// A weight of exactly 0 gives nothing, whatever it multiplies. Weights are probabilities, which are
// 0 where a key is hidden, and gradients, which are 0 where nothing came back: what is hidden or
// not used can hold anything. A product knows no such rule, since 0 · NaN is NaN. So a product of
// tensors looks at what it weights, and takes out what is not finite. A kernel of many products
// first multiplies, which is fast, and looks at the result. Where that is finite, nothing that is
// not finite has taken part. Otherwise it is computed once more, by selecting. Where all that is
// weighted is finite, both ways have the same bits.
//
// Functions of single elements select at once: `simd::Binary::weigh`, `simd::multiply_add`,
// `simd::map_gradient`, `pointwise`, and the cells of ops/recurrent.

#include <vector>

#include "core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What a weight of 0 makes of a number that is not finite: NaN, or nothing.
enum class Zeros { multiply, select };

/// Calls compute(Zeros::multiply), which returns whether its result is finite, and if it is not
/// compute(Zeros::select), which computes the same once more.
void finite_or_selected(auto compute) {
  if (!compute(Zeros::multiply)) compute(Zeros::select);
}

/// Whether all of these numbers are 0. A row of a gradient that is 0 passes nothing on.
bool is_zero(const Scalar* x, int64_t n);

/// x = 0 wherever its weight is 0, for matrices whose rows are dense.
void clear_unweighted(const ConstMatrix& weights, const Matrix& x);

/// A factor of which each row has weights: its finite rows as they are, 0 in place of the others.
struct FiniteRows {
  ConstMatrix matrix;           ///< the given one if all is finite, otherwise a copy
  std::vector<int64_t> others;  ///< the numbers of the rows that are not

  explicit FiniteRows(const ConstMatrix& given);

 private:
  Buffer memory_{};
};

/// Computes c += alpha Σ_n a_mn b_n over the given rows n of b whose weight a_mn is not 0.
void add_weighted_rows(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b,
                       const std::vector<int64_t>& rows, const Matrix& c);

/// Computes c = alpha a b + … for weights a, of which 0 gives nothing. multiply(b) computes it by
/// multiplying, for this b or another matrix of its sizes.
template <class Multiply>
void weighted_product(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                      Multiply multiply) {
  FiniteRows finite(b);
  multiply(finite.matrix);
  add_weighted_rows(alpha, a, b, finite.others, c);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
