#pragma once

// Products with weights, such as probabilities: a weight that is 0 takes nothing from what it
// multiplies, even where that is NaN or infinite. What is hidden has the weight 0, so it can hold
// anything.

#include <vector>

#include "core/machine/buffer.h"
#include "core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Whether no element is a NaN or infinite.
bool is_finite(const ConstMatrix& x);

/// A factor whose rows are weighted: its finite rows as they are, and 0 in place of the others.
struct FiniteRows {
  ConstMatrix matrix;           ///< the given one if all is finite, otherwise one of its strides
  std::vector<int64_t> others;  ///< the numbers of the rows that are not

  explicit FiniteRows(const ConstMatrix& given);

 private:
  Buffer memory_{};
};

/// Computes c += alpha Σ_n a_mn b_n over these rows n of b, less those with a weight a_mn of 0.
void add_weighted_rows(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b,
              const std::vector<int64_t>& rows, const Matrix& c);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
