#pragma once

// Walks several layouts of one shape in step. Axes that follow on from one another in every layout
// are merged first, so that contiguous operands become one long run.

#include <algorithm>
#include <array>

#include "core/layout.h"
#include "core/machine/parallel.h"

namespace shiftgrad {

/// A walk over the elements of N layouts of one shape, in row-major order.
template <size_t N>
class Walk {
 public:
  /// A stretch of elements along the last merged axis: element n of operand o lies at
  /// at[o] + n · step[o].
  struct Run {
    /// Where the first element lies in each operand, and how far it is from one to the next.
    std::array<int64_t, N> at, step;
    /// The number of elements.
    int64_t length;
  };

  /// Prepares a walk over the layouts, which must have the same shape.
  explicit Walk(const std::array<const Layout*, N>& layouts) {
    const Dims& shape = layouts[0]->shape;
    for (size_t o = 0; o < N; ++o) offsets_[o] = layouts[o]->offset;
    for (int axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 1) continue;
      auto follows_on = [&](size_t o) {
        return strides_[o].back() == layouts[o]->strides[axis] * shape[axis];
      };
      bool merges = !shape_.empty();
      for (size_t o = 0; o < N; ++o) merges = merges && follows_on(o);
      if (merges) {
        shape_[-1] *= shape[axis];
        for (size_t o = 0; o < N; ++o) strides_[o][-1] = layouts[o]->strides[axis];
      } else {
        shape_.push_back(shape[axis]);
        for (size_t o = 0; o < N; ++o) strides_[o].push_back(layouts[o]->strides[axis]);
      }
    }
    if (shape_.empty()) {
      shape_.push_back(1);
      for (Dims& strides : strides_) strides.push_back(0);
    }
  }

  /// The number of elements.
  int64_t count() const { return product(shape_); }

  /// Calls body(run) for the runs that make up the elements begin … end-1 in row-major order.
  template <class Body>
  void range(int64_t begin, int64_t end, Body&& body) const {
    if (begin >= end) return;
    Dims index = shape_;
    Run run{offsets_, {}, 0};
    int64_t rest = begin;
    for (int axis = shape_.size() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape_[axis];
      rest /= shape_[axis];
      for (size_t o = 0; o < N; ++o) run.at[o] += index[axis] * strides_[o][axis];
    }
    for (size_t o = 0; o < N; ++o) run.step[o] = strides_[o].back();
    for (int64_t done = begin; done < end; done += run.length) {
      run.length = std::min(end - done, shape_.back() - index.back());
      body(static_cast<const Run&>(run));
      advance(index, run);
    }
  }

  /// Calls body(at) for the elements begin … end-1, with their position in each operand.
  template <class Body>
  void each(int64_t begin, int64_t end, Body&& body) const {
    range(begin, end, [&](Run run) {
      for (int64_t n = 0; n < run.length; ++n) {
        body(static_cast<const std::array<int64_t, N>&>(run.at));
        for (size_t o = 0; o < N; ++o) run.at[o] += run.step[o];
      }
    });
  }

  /// Calls body(run) for all elements, in tiles over the threads.
  template <class Body>
  void parallel(Body&& body, int64_t tile = 16384) const {
    parallel_ranges(count(), tile, [&](int64_t begin, int64_t end) { range(begin, end, body); });
  }

 private:
  /// Steps past the run, to the start of the next one.
  void advance(Dims& index, Run& run) const {
    int axis = shape_.size() - 1;
    index[axis] += run.length;
    for (size_t o = 0; o < N; ++o) run.at[o] += run.length * strides_[o][axis];
    for (; axis > 0 && index[axis] == shape_[axis]; --axis) {
      index[axis] = 0;
      ++index[axis - 1];
      for (size_t o = 0; o < N; ++o)
        run.at[o] += strides_[o][axis - 1] - shape_[axis] * strides_[o][axis];
    }
  }

  Dims shape_;
  std::array<Dims, N> strides_;
  std::array<int64_t, N> offsets_;
};

}  // namespace shiftgrad
