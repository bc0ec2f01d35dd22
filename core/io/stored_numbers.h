#pragma once

// Stores numbers that are not Scalars, such as counters, as one-dimensional tensors of a file.

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "core/errors.h"
#include "core/io/safetensors.h"

namespace shiftgrad {

/// The type in which a file stores a number of 64 bits.
template <class Number>
constexpr DType number_type() {
  static_assert(sizeof(Number) == 8);
  if constexpr (std::is_floating_point_v<Number>) return DType::f64;
  return std::is_signed_v<Number> ? DType::i64 : DType::u64;
}

/// Returns the numbers as a tensor of a file, [n].
template <class Number>
StoredTensor stored_numbers(std::initializer_list<Number> numbers) {
  StoredTensor tensor{number_type<Number>(), {static_cast<int64_t>(numbers.size())}, {}};
  tensor.bytes.resize(numbers.size() * sizeof(Number));
  std::memcpy(tensor.bytes.data(), numbers.begin(), tensor.bytes.size());
  return tensor;
}

/// Returns the numbers of the tensor that a file calls `name`. Throws when they are of another
/// type, and when there are not `count` of them.
template <class Number>
std::vector<Number> loaded_numbers(const std::string& name, const StoredTensor& stored,
                                   int64_t count) {
  DType type = number_type<Number>();
  require(stored.dtype == type && stored.shape == Dims{count}, "tensor \"", name,
          "\": ", stored.dtype, ' ', stored.shape, ", expected ", type, ' ', Dims{count});
  std::vector<Number> numbers(static_cast<size_t>(count));
  std::memcpy(numbers.data(), stored.bytes.data(), stored.bytes.size());
  return numbers;
}

}  // namespace shiftgrad
