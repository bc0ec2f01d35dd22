#pragma once

#include <cstdint>
#include <vector>

#include "core/dims.h"
#include "core/errors.h"

namespace shiftgrad {

/// Row-major values that never have a gradient.
template <class T>
struct Array {
  /// The size of each axis.
  Dims shape{};
  /// The values, as many as the shape says.
  std::vector<T> values{};
};

/// Throws an error that names `operation` unless there are as many values as the shape says.
template <class T>
void require_complete(const char* operation, const char* name, const Array<T>& array) {
  require(static_cast<int64_t>(array.values.size()) == product(array.shape), operation, ": ", name,
          ": ", array.values.size(), " values for the shape ", array.shape);
}

/// Returns the rows begin … end-1 along the first axis. Throws when there are no such rows.
template <class T>
Array<T> rows(const Array<T>& array, int64_t begin, int64_t end) {
  require_complete("rows", "the array", array);
  Dims shape = array.shape;
  require(!shape.empty() && 0 <= begin && begin <= end && end <= shape[0], "rows: ", begin, " to ",
          end, " of ", shape);
  shape[0] = 1;
  int64_t size = product(shape);
  shape[0] = end - begin;
  auto first = array.values.begin();
  return {shape, {first + begin * size, first + end * size}};
}

/// Indices into a vocabulary, `[B, T]`.
using Tokens = Array<int32_t>;

/// Truth values, one byte each; 0 is false.
using Mask = Array<uint8_t>;

}  // namespace shiftgrad
