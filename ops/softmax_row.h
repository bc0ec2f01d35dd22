#pragma once

// What the softmax of a row is beside its formula (ops/softmax.cpp): in pieces of the row, for
// tiles of keys, and where scores or gradients are not finite.

#include <cstdint>
#include <limits>

#include "core/interval.h"
#include "core/machine/matrix.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The two numbers from which a row's probabilities e^(x_j - greatest) / total are made.
struct SoftmaxRow {
  Scalar greatest = -std::numeric_limits<Scalar>::infinity();  ///< -inf for a row without a key
  Scalar total = 0;

  /// A row that has one logit so far.
  static SoftmaxRow of(Scalar logit) {
    SoftmaxRow none;
    return logit == none.greatest ? none : SoftmaxRow{logit, 1};
  }

  /// Takes the greatest of the next scores of the row, of which -inf marks a hidden key. Where it
  /// is the greatest so far, `total` shrinks; returns the number by which it did, so that other
  /// sums over the row's earlier keys can do the same.
  Scalar raise(Scalar seen);
};

/// Turns the scores that each row of x has seen into e^(x_j - greatest), in place, and the others
/// into 0; sums[i] is the sum of row i. Where all so far are hidden, all get 0.
void make_exponentials(const SoftmaxRow* rows, const Interval* seen, const Matrix& x, Scalar* sums);

/// Does what the softmax of a row does where its greatest score is not finite: 0 where a score is
/// -inf, which marks a hidden key, and NaN elsewhere.
void softmax_not_finite(Scalar* y, int64_t length);

/// dx = beta dx + the gradient of softmax(factor x) for a few rows p of it. A row of dp that is 0
/// passes none on, even where p is NaN.
void add_softmax_gradients(const ConstMatrix& p, const ConstMatrix& dp, Scalar factor, Scalar beta,
                           const Matrix& dx);

/// Returns the gradient [H] of a sink, given p and dp [B, H, T, K] and the shares [B, H, T] that it
/// has: each row takes its share times Σ_j p dp away, unless its dp is 0.
Tensor sink_gradient(const Tensor& p, const Tensor& dp, const Tensor& shares);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
