#pragma once

// What the tests of tapes record and run backward from.

#include <vector>

#include "core/tensor.h"

namespace shiftgrad::test {

using Scalars = std::vector<Scalar>;

/// A parameter of these values.
inline Tensor parameter(const Scalars& values) {
  return Tensor::from({static_cast<int64_t>(values.size())}, values).require_gradient();
}

inline const Scalars ones{1, 1, 1};

inline Tensor cotangent_of_ones() { return Tensor::full({3}, 1); }

}  // namespace shiftgrad::test
