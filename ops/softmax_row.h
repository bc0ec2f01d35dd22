#pragma once

// The softmax of one row, as kernels call it on rows that they have just made.

#include <cstdint>

#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The two numbers from which a row's probabilities e^(x_j - greatest) / total are made.
struct SoftmaxRow {
  Scalar greatest;  ///< -inf for a row without a key
  Scalar total;
};

/// Turns the scores of a row into its probabilities, in place. A score of -inf marks a hidden key;
/// where all are hidden, all get 0.
SoftmaxRow softmax_row(Scalar* y, int64_t length);

/// Makes the same bits again, from the same scores and what `softmax_row` gave for them.
void softmax_row_again(const SoftmaxRow& row, Scalar* y, int64_t length);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
