#pragma once

// Sizes and strides come in short lists, one entry for each axis.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>

#include "core/errors.h"

namespace shiftgrad {

/// A short list of sizes, strides or axes, kept inline; at most `max_rank` long.
class Dims {
 public:
  /// The largest number of entries.
  static constexpr int max_rank = 8;

  Dims() = default;
  /// Takes these entries. Throws when there are more than `max_rank`.
  Dims(std::initializer_list<int64_t> values);
  explicit Dims(std::span<const int64_t> values);
  /// Returns a list of `count` equal values.
  static Dims filled(int count, int64_t value);

  /// The number of entries.
  int size() const { return size_; }
  /// Whether there is no entry.
  bool empty() const { return size_ == 0; }
  /// Returns entry `axis`; a negative axis counts from the end.
  int64_t& operator[](int64_t axis) { return values_[place(axis)]; }
  int64_t operator[](int64_t axis) const { return values_[place(axis)]; }
  /// The first entry.
  int64_t* begin() { return values_.data(); }
  const int64_t* begin() const { return values_.data(); }
  /// The place behind the last entry.
  int64_t* end() { return values_.data() + size_; }
  const int64_t* end() const { return values_.data() + size_; }
  /// The last entry.
  int64_t back() const { return (*this)[-1]; }

  /// Appends a value. Throws when the list is already `max_rank` long.
  void push_back(int64_t value) {
    require(size_ < max_rank, "shape: more than ", max_rank, " axes");
    values_[static_cast<size_t>(size_++)] = value;
  }
  /// Inserts an entry before the one at `axis`.
  void insert(int64_t axis, int64_t value);
  /// Removes the entry at `axis`.
  void erase(int64_t axis);
  bool operator==(const Dims&) const = default;

 private:
  size_t place(int64_t axis) const { return static_cast<size_t>(axis < 0 ? axis + size_ : axis); }

  std::array<int64_t, max_rank> values_{};  // 0 beyond the last entry
  int size_ = 0;
};

/// Returns `[2, 3, 4]`, of however many sizes.
std::string shape_text(std::span<const int64_t> sizes);
/// Prints `[2, 3, 4]`.
std::ostream& operator<<(std::ostream& out, const Dims& dims);

/// The number of elements of a shape: the product of its sizes, 1 for an empty list. Throws when a
/// size is negative, or the number beyond int64_t.
inline int64_t product(const Dims& shape) {
  int64_t result = 1;
  for (int64_t size : shape) {
    require(size >= 0, "shape: ", shape, " has a negative size");
    require(!__builtin_mul_overflow(result, size, &result), "shape: ", shape, " is too large");
  }
  return result;
}

/// Returns the axis as a number in 0 … rank-1; a negative one counts from the end. Throws an error
/// that names `operation` when there is no such axis.
inline int64_t normalized_axis(const char* operation, int64_t axis, int rank) {
  require(-rank <= axis && axis < rank, operation, ": axis ", axis, " of a tensor with ", rank,
          " axes");
  return axis < 0 ? axis + rank : axis;
}

/// Returns the shape to which both broadcast (aligned at the last axis, size 1 stretches, as in
/// NumPy). Throws an error that names `operation` when there is none.
Dims broadcast_shape(const char* operation, const Dims& a, const Dims& b);

}  // namespace shiftgrad
