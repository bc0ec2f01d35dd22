#pragma once

// Pure geometry: where the element with a given index lies in a flat buffer.
//
//     position(i_0, …, i_n) = offset + Σ i_a · stride_a
//
// Every view of a tensor is one of the functions below, applied to its layout alone.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <span>

#include "shiftgrad/core/errors.h"

namespace shiftgrad {

/// A short list of sizes, strides or axes, kept inline; at most `max_rank` long.
class Dims {
 public:
  static constexpr int max_rank = 8;

  Dims() = default;
  Dims(std::initializer_list<int64_t> values);
  explicit Dims(std::span<const int64_t> values);
  /// Returns a list of `count` equal values.
  static Dims filled(int count, int64_t value);

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Returns entry `axis`; a negative axis counts from the end.
  int64_t& operator[](int axis) { return values_[axis < 0 ? axis + size_ : axis]; }
  int64_t operator[](int axis) const { return values_[axis < 0 ? axis + size_ : axis]; }
  int64_t* begin() { return values_.data(); }
  int64_t* end() { return values_.data() + size_; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + size_; }
  int64_t front() const { return values_[0]; }
  int64_t back() const { return values_[size_ - 1]; }

  /// Appends a value. Throws when the list is already `max_rank` long.
  void push_back(int64_t value) {
    require(size_ < max_rank, "shape: more than ", max_rank, " axes");
    values_[size_++] = value;
  }
  void insert(int axis, int64_t value);
  void erase(int axis);
  bool operator==(const Dims& other) const;

 private:
  std::array<int64_t, max_rank> values_{};
  int size_ = 0;
};

/// Prints `[2, 3, 4]`.
std::ostream& operator<<(std::ostream& out, const Dims& dims);

/// The product of the entries; 1 for an empty list. Throws when it is beyond int64_t.
inline int64_t product(const Dims& dims) {
  int64_t result = 1;
  for (int64_t size : dims)
    require(!__builtin_mul_overflow(result, size, &result), "shape: ", dims,
            " has too many elements");
  return result;
}

/// Returns the axis as a number in 0 … rank-1; a negative one counts from the end. Throws, in the
/// name of `operation`, when there is no such axis.
inline int normalized_axis(const char* operation, int axis, int rank) {
  require(-rank <= axis && axis < rank, operation, ": axis ", axis, " of a tensor with ", rank,
          " axes");
  return axis < 0 ? axis + rank : axis;
}

/// Returns the shape to which both broadcast (aligned at the last axis, size 1 stretches, as in
/// NumPy). Throws, in the name of `operation`, when there is none.
Dims broadcast_shape(const char* operation, const Dims& a, const Dims& b);

struct Layout {
  Dims shape;
  Dims strides;
  int64_t offset = 0;

  /// Returns the row-major layout of `shape` from offset 0. Throws when it has more elements than
  /// int64_t can count.
  static Layout contiguous(const Dims& shape);

  int rank() const { return shape.size(); }
  int64_t count() const { return product(shape); }

  /// Whether the elements lie row-major without gaps, wherever they start.
  bool is_contiguous() const;
  /// Whether every index lies in a buffer of elements 0 … size-1.
  bool fits(int64_t size) const;
  /// Whether each of the elements 0 … size-1 of a buffer appears exactly once, in any order.
  bool covers(int64_t size) const;
  /// Whether elements are repeated along an axis of stride 0.
  bool is_broadcast() const;
  /// Whether two indices may share an element other than through an axis of stride 0. The answer
  /// comes from the strides sorted by size, so a rare layout that interleaves without sharing
  /// counts as well.
  bool overlaps() const;

  /// Puts the axes in the order `axes`. PyTorch: Tensor.permute.
  Layout permute(const Dims& axes) const;
  /// Keeps indices begin … end-1 of one axis, every `step`-th. PyTorch: x[begin:end:step].
  Layout slice(int axis, int64_t begin, int64_t end, int64_t step = 1) const;
  /// Keeps index `index` of one axis, which disappears. PyTorch: Tensor.select.
  Layout select(int axis, int64_t index) const;
  /// Reverses one axis by a negative stride. PyTorch: Tensor.flip, which copies.
  Layout reverse(int axis) const;
  /// Broadcasts to `shape` by strides of 0. PyTorch: Tensor.expand.
  Layout expand(const Dims& shape) const;
  /// Reads the elements in the same row-major order under another shape; returns nothing when that
  /// needs a copy. One size may be -1 and is worked out. PyTorch: Tensor.view.
  std::optional<Layout> reshape(const Dims& shape) const;
  /// Shifts a padded `[…, T, K+1]` (each matrix without gaps) to the `[…, T, K]` of Transformer-XL
  /// (Dai et al. 2019, appendix B): drops the first T of the flat matrix and reads the rest in rows
  /// of K.
  Layout rel_shift() const;
  /// Shifts the mirror image, where the padded column is on the right (labml): reads from the start
  /// in rows of K.
  Layout shift_right() const;
};

}  // namespace shiftgrad
