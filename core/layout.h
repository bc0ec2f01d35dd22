#pragma once

// Pure geometry: where the element with a given index lies in a flat buffer.
//
//     position(i_0, …, i_n) = offset + Σ i_a · stride_a
//
// Every view of a tensor is one of the functions below, applied to its layout alone.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/dims.h"
#include "core/interval.h"

namespace shiftgrad {

/// Shape, strides and offset of a view. The functions return other views, or throw and name the
/// shape. They and `Tensor::view` refuse a layout that `check` refuses.
/// core/interval.cpp has the functions that ask which elements a layout has.
struct Layout {
  /// The size of each axis.
  Dims shape{};
  /// How many elements lie between neighbours on each axis.
  Dims strides{};
  /// Where the element with the index 0, …, 0 lies.
  int64_t offset = 0;

  /// Returns the row-major layout of `shape` from offset 0. Throws when a size is negative, or when
  /// int64_t cannot count the elements.
  static Layout contiguous(const Dims& shape);

  /// Throws an error that names `operation` unless each axis has a stride, no size is negative, and
  /// int64_t can tell where every element lies.
  void check(const char* operation) const;

  /// The number of axes.
  int rank() const { return shape.size(); }
  /// The number of elements.
  int64_t count() const { return product(shape); }

  /// Whether the elements lie row-major without gaps, wherever they start.
  bool is_contiguous() const;
  bool operator==(const Layout&) const = default;
  /// Whether elements are repeated along this axis, or along any, by a stride of 0.
  bool is_broadcast(int64_t axis) const { return strides[axis] == 0 && shape[axis] > 1; }
  bool is_broadcast() const;

  /// Keeps the axes for which `keep(axis)` holds, at index 0 of the others.
  Layout keep_axes(auto keep) const {
    check("keep_axes");
    Layout result{{}, {}, offset};
    for (int axis = 0; axis < rank(); ++axis) {
      if (!keep(axis)) continue;
      result.shape.push_back(shape[axis]);
      result.strides.push_back(strides[axis]);
    }
    return result;
  }
  /// Puts the axes in the order `axes`. PyTorch: Tensor.permute.
  Layout permute(const Dims& axes) const;
  /// Keeps indices begin … end-1 of one axis, every `step`-th. PyTorch: x[begin:end:step].
  Layout slice(int64_t axis, int64_t begin, int64_t end, int64_t step = 1) const;
  /// Keeps index `index` of one axis, which disappears; -1 is the last. PyTorch: Tensor.select.
  Layout select(int64_t axis, int64_t index) const;
  /// Reverses one axis by a negative stride. PyTorch: Tensor.flip, which copies.
  Layout flip(int64_t axis) const;
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

  /// The shortest interval that has all elements; nothing when int64_t cannot tell it.
  std::optional<Interval> interval() const;
  /// Whether the two share an element, as views of one buffer.
  bool intersects(const Layout& other) const;
  /// Whether the two surely have no element in common, judged by strides alone: they are equal, as
  /// those of a projection's slices are, and interleave. It takes no time, unlike `intersects`.
  bool surely_disjoint(const Layout& other) const;
  /// Whether parts of one buffer surely are its elements 0 … size-1, each of them in one part
  /// alone, as `surely_disjoint` judges.
  static bool partition(const std::vector<const Layout*>& parts, int64_t size);
  /// Whether every index lies in a buffer of elements 0 … size-1.
  bool fits(int64_t size) const;
  /// Whether each of the elements 0 … size-1 of a buffer appears exactly once, in any order.
  bool covers(int64_t size) const;
  /// Whether two indices may share an element other than through an axis of stride 0. The answer
  /// comes from the strides sorted by size, so a rare layout that interleaves without sharing
  /// counts as well.
  bool overlaps() const;
};

}  // namespace shiftgrad
