#pragma once

#include <array>

#include "core/tensor.h"
#include "tests/support/random_values.h"

namespace shiftgrad::test {

/// The ways in which a tensor of one shape may lie in its storage.
enum class Arrangement {
  dense,      ///< Row-major, the whole storage.
  permuted,   ///< The last axis is the farthest apart in memory.
  sliced,     ///< Every other element of every axis, the first one left out.
  reversed,   ///< Every axis runs backwards, by a negative stride.
  inside,     ///< A block of rows inside a wider matrix.
  expanded,   ///< The first axis repeats one element, by a stride of 0.
  repeating,  ///< The last axis does.
};

inline constexpr std::array arrangements = {
    Arrangement::dense,  Arrangement::permuted, Arrangement::sliced,    Arrangement::reversed,
    Arrangement::inside, Arrangement::expanded, Arrangement::repeating,
};

/// A leaf of random values and the view of it that has the wanted shape.
struct Arranged {
  Tensor leaf, view;

  Arranged(Arrangement arrangement, const Dims& shape, RandomValues& random) {
    Dims stored = shape;
    Layout layout;
    int rank = shape.size();
    switch (arrangement) {
      case Arrangement::dense:
        layout = Layout::contiguous(shape);
        break;
      case Arrangement::permuted: {
        Dims reversed;
        for (int axis = 0; axis < rank; ++axis) {
          stored[axis] = shape[rank - 1 - axis];
          reversed.push_back(rank - 1 - axis);
        }
        layout = Layout::contiguous(stored).permute(reversed);
        break;
      }
      case Arrangement::sliced:
        for (int64_t& size : stored) size = 2 * size + 1;
        layout = Layout::contiguous(stored);
        for (int axis = 0; axis < rank; ++axis) layout = layout.slice(axis, 1, stored[axis], 2);
        break;
      case Arrangement::reversed:
        layout = Layout::contiguous(stored);
        for (int axis = 0; axis < rank; ++axis) layout = layout.flip(axis);
        break;
      case Arrangement::inside:
        if (rank > 0) stored[-1] += 3;
        layout = Layout::contiguous(stored);
        if (rank > 0) layout = layout.slice(-1, 2, 2 + shape[-1]);
        break;
      case Arrangement::expanded:
        if (rank > 0) stored[0] = 1;
        layout = Layout::contiguous(stored).expand(shape);
        break;
      case Arrangement::repeating:
        if (rank > 0) stored[-1] = 1;
        layout = Layout::contiguous(stored).expand(shape);
        break;
    }
    leaf = random.tensor(stored);
    view = leaf.view(layout);
  }
};

}  // namespace shiftgrad::test
