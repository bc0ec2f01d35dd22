// Tells which elements of a buffer a layout reaches: whether all of them lie inside, whether it
// leaves any out, and whether it reaches any twice.

#include <algorithm>
#include <cstdlib>

#include "shiftgrad/core/layout.h"

namespace shiftgrad {

namespace {

/// Whether each axis steps over everything that the axes of smaller strides reach.
bool nests(const Layout& layout) {
  if (layout.is_contiguous()) return true;
  auto steps = [&](int axis) { return layout.shape[axis] > 1 && layout.strides[axis] != 0; };
  for (int axis = 0; axis < layout.rank(); ++axis) {
    if (!steps(axis)) continue;
    int64_t stride = std::abs(layout.strides[axis]), reach = 1;
    for (int other = 0; other < layout.rank(); ++other) {
      int64_t step = std::abs(layout.strides[other]);
      if (steps(other) && (step < stride || (step == stride && other < axis)))
        reach += (layout.shape[other] - 1) * step;
    }
    if (stride < reach) return false;
  }
  return true;
}

}  // namespace

bool Layout::fits(int64_t size) const {
  if (count() == 0) return true;
  int64_t first = offset, last = offset;
  for (int axis = 0; axis < rank(); ++axis) {
    int64_t reach = 0;
    int64_t& end = strides[axis] < 0 ? first : last;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach) ||
        __builtin_add_overflow(end, reach, &end))
      return false;
  }
  return first >= 0 && last < size;
}

bool Layout::covers(int64_t size) const {
  bool forward = std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s >= 0; });
  return offset == 0 && count() == size && forward && !is_broadcast() && nests(*this);
}

bool Layout::is_broadcast() const {
  for (int axis = 0; axis < rank(); ++axis)
    if (strides[axis] == 0 && shape[axis] > 1) return true;
  return false;
}

bool Layout::overlaps() const { return count() > 0 && !nests(*this); }

}  // namespace shiftgrad
