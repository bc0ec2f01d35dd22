#pragma once

// The softmax of one row, as kernels call it on rows that they have just made.

#include <cstdint>
#include <limits>

#include "core/machine/matrix.h"
#include "core/stretch.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The two numbers from which a row's probabilities e^(x_j - greatest) / total are made.
struct SoftmaxRow {
  Scalar greatest = -std::numeric_limits<Scalar>::infinity();  ///< -inf for a row without a key
  Scalar total = 0;

  /// Takes the greatest of the next scores of the row, of which -inf marks a hidden key. Where it
  /// is the greatest so far, `total` shrinks; returns the number by which it did, so that other
  /// sums over the row's earlier keys can do the same.
  Scalar raise(Scalar seen);
};

/// Turns the scores that each row of x has seen into e^(x_j - greatest), in place, and the others
/// into 0; sums[i] is the sum of row i. Where all so far are hidden, all get 0.
void make_exponentials(const SoftmaxRow* rows, const Stretch* seen, const Matrix& x, Scalar* sums);

/// Sets y = e^(x_j - greatest) / Σ e^(x_k - greatest), given the greatest x; returns the sum.
Scalar softmax_below(const Scalar* x, Scalar greatest, Scalar* y, int64_t length);

/// Turns the scores of a row into its probabilities, in place. A score of -inf marks a hidden key;
/// where all are hidden, all get 0.
void softmax_row(Scalar* y, int64_t length);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
