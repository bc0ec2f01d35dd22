#include "core/layout.h"

#include <algorithm>
#include <array>

#include "core/errors.h"

namespace shiftgrad {

Layout Layout::contiguous(const Dims& shape) {
  Layout layout{shape, shape, 0};
  int64_t stride = 1;
  product(shape);  // throws where a size is negative
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    layout.strides[axis] = stride;
    require(!__builtin_mul_overflow(stride, shape[axis], &stride), "shape: ", shape,
            " is too large");
  }
  return layout;
}

void Layout::check(const char* operation) const {
  require(strides.size() == rank(), operation, ": strides ", strides, " for the shape ", shape,
          ", expected one for each axis");
  require(interval().has_value(), operation, ": shape ", shape, " with strides ", strides, " from ",
          offset, " reaches beyond int64_t");
}

bool Layout::is_contiguous() const {
  if (count() == 0) return true;
  int64_t stride = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;
    if (strides[axis] != stride) return false;
    stride *= shape[axis];
  }
  return true;
}

bool Layout::is_broadcast() const {
  for (int axis = 0; axis < rank(); ++axis)
    if (is_broadcast(axis)) return true;
  return false;
}

Layout Layout::permute(const Dims& axes) const {
  check("permute");
  require(axes.size() == rank(), "permute: ", axes, " does not name the ", rank(), " axes of ",
          shape);
  Layout result{axes, axes, offset};
  std::array<bool, Dims::max_rank> seen{};
  for (int axis = 0; axis < rank(); ++axis) {
    int64_t from = normalized_axis("permute", axes[axis], rank());
    require(!seen[from], "permute: ", axes, " names an axis twice");
    seen[from] = true;
    result.shape[axis] = shape[from];
    result.strides[axis] = strides[from];
  }
  return result;
}

Layout Layout::slice(int64_t axis, int64_t begin, int64_t end, int64_t step) const {
  check("slice");
  axis = normalized_axis("slice", axis, rank());
  require(0 <= begin && begin <= end && end <= shape[axis], "slice: ", begin, " to ", end,
          " of axis ", axis, " of ", shape);
  require(step >= 1, "slice: a step of ", step, ", expected at least 1");
  Layout result = *this;
  if (begin < end) result.offset += begin * strides[axis];
  result.shape[axis] = begin < end ? (end - begin - 1) / step + 1 : 0;
  if (result.shape[axis] > 1) result.strides[axis] *= step;  // the step is shorter than the axis
  return result;
}

Layout Layout::select(int64_t axis, int64_t index) const {
  check("select");
  axis = normalized_axis("select", axis, rank());
  int64_t size = shape[axis], begin = index < 0 ? index + size : index;
  require(0 <= begin && begin < size, "select: index ", index, " of axis ", axis, " of ", shape);
  Layout result = slice(axis, begin, begin + 1);
  result.shape.erase(axis);
  result.strides.erase(axis);
  return result;
}

Layout Layout::flip(int64_t axis) const {
  check("flip");
  axis = normalized_axis("flip", axis, rank());
  Layout result = *this;
  if (shape[axis] < 2) return result;
  result.offset += (shape[axis] - 1) * strides[axis];
  result.strides[axis] = -strides[axis];
  return result;
}

Layout Layout::expand(const Dims& target) const {
  check("expand");
  require(target.size() >= rank(), "expand: ", shape, " to the shorter ", target);
  for (int64_t size : target) require(size >= 0, "expand: ", shape, " to ", target);
  Layout result{target, Dims::filled(target.size(), 0), offset};
  for (int axis = 1; axis <= rank(); ++axis) {
    require(shape[-axis] == target[-axis] || shape[-axis] == 1, "expand: ", shape, " to ", target);
    if (shape[-axis] == target[-axis]) result.strides[-axis] = strides[-axis];
  }
  return result;
}

namespace {

/// Returns `target` with its one -1, if any, worked out from the number of elements.
Dims completed(const Dims& target, const Dims& shape) {
  Dims result = target;
  int64_t* unknown = std::find(result.begin(), result.end(), -1);
  bool is_whole = unknown == result.end();
  if (!is_whole) *unknown = 1;
  for (int64_t size : result) require(size >= 0, "reshape: ", target, " as a shape");
  int64_t known = product(result);
  // Beside an axis without elements any size would do.
  if (!is_whole && known > 0) *unknown = product(shape) / known;
  require(product(result) == product(shape), "reshape: ", shape, " to ", target,
          ": the numbers of elements differ");
  require(is_whole || known > 0, "reshape: ", shape, " to ", target,
          ": any size would do in place of -1");
  return result;
}

}  // namespace

std::optional<Layout> Layout::reshape(const Dims& requested) const {
  check("reshape");
  Dims target = completed(requested, shape);
  if (is_contiguous()) {
    Layout result = contiguous(target);
    result.offset = offset;
    return result;
  }
  // Match groups of axes of equal products; inside a group of the old axes the strides must chain.
  Layout result{target, Dims::filled(target.size(), 0), offset};
  int from = 0, to = 0;
  while (from < rank() || to < target.size()) {
    int from_begin = from, to_begin = to;
    int64_t old_count = from < rank() ? shape[from++] : 1;
    int64_t new_count = to < target.size() ? target[to++] : 1;
    while (old_count != new_count)
      if (old_count < new_count)
        old_count *= shape[from++];
      else
        new_count *= target[to++];
    int64_t stride = 1;
    for (int axis = from - 1, chain = -1; axis >= from_begin; --axis) {
      if (shape[axis] == 1) continue;
      if (chain < 0)
        stride = strides[axis];
      else if (strides[axis] != strides[chain] * shape[chain])
        return std::nullopt;
      chain = axis;
    }
    for (int axis = to - 1; axis >= to_begin; --axis) {
      result.strides[axis] = stride;
      stride *= target[axis];
    }
  }
  return result;
}

namespace {

/// Views `[…, T, K+1]` in rows one shorter, read on through the flat matrix from `skip`.
Layout shifted(const char* operation, const Layout& padded, int64_t skip) {
  padded.check(operation);
  int rank = padded.rank();
  require(rank >= 2 && padded.shape[-1] >= 1, operation, ": ", padded.shape,
          ", expected a padded […, T, K+1]");
  bool without_gaps = (padded.strides[-1] == 1 || padded.shape[-1] == 1) &&
                      (padded.strides[-2] == padded.shape[-1] || padded.shape[-2] == 1);
  require(without_gaps, operation, ": ", padded.shape,
          ", expected rows without gaps in or between them");
  Layout result = padded;
  result.offset += skip;
  result.shape[-1] -= 1;
  result.strides[-1] = 1;
  result.strides[-2] = result.shape[-1];
  return result;
}

}  // namespace

Layout Layout::rel_shift() const {
  return shifted("rel_shift", *this, rank() >= 2 ? shape[-2] : 0);
}

Layout Layout::shift_right() const { return shifted("shift_right", *this, 0); }

}  // namespace shiftgrad
