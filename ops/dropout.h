#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The elements that a dropout keeps. Element n of a tensor, counted row-major, is kept when the
/// n-th uniform number of (seed, stream) is at least `rate`, and is then multiplied by
/// 1 / (1 - rate). The pattern depends on nothing else, so a backward pass makes it again instead
/// of saving it. A tensor that is a part of a larger one, cut along its first axis, is counted as
/// that part.
struct DropoutPattern {
  /// The seed of the uniform numbers.
  uint64_t seed = 0;
  /// Their stream, one for each dropout.
  uint64_t stream = 0;
  /// The probability with which an element is dropped.
  double rate = 0;
  /// Where the first axis begins in the larger tensor.
  int64_t first_row = 0;

  /// Throws an error that names `operation` unless 0 ≤ rate < 1, and int64_t counts the elements of
  /// a tensor of this shape that begins at `first_row`.
  void check(const char* operation, const Dims& shape) const;

  /// factors[n] = 0 or 1 / (1 - rate) for the elements first … first + count - 1.
  void factors(int64_t first, int64_t count, Scalar* factors) const;
};

/// Returns x with each element zeroed with probability `rate`, and the rest multiplied by
/// 1 / (1 - rate) (Srivastava et al. 2014). A dropped element is 0 whatever it was, and so is its
/// gradient. Throws unless 0 ≤ rate < 1. PyTorch: functional.dropout, which makes NaN of a dropped
/// element that is not finite.
Tensor dropout(const Tensor& x, const DropoutPattern& pattern);

/// residual + dropout(x, pattern) in one pass: the end of each part of a block (Vaswani et al.
/// 2017, section 5.4). Throws unless the shapes are equal and 0 ≤ rate < 1.
Tensor add_dropped(const Tensor& residual, const Tensor& x, const DropoutPattern& pattern);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
