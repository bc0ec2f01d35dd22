#pragma once

#include <cstdint>
#include <vector>

#include "core/layout.h"

namespace shiftgrad {

/// Row-major values that never have a gradient.
template <class T>
struct Array {
  Dims shape;
  std::vector<T> values;
};

/// Indices into a vocabulary, `[B, T]`.
using Tokens = Array<int32_t>;

/// Truth values, one byte each; 0 is false.
using Mask = Array<uint8_t>;

}  // namespace shiftgrad
