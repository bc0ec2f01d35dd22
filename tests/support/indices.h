#pragma once

#include <cstdint>
#include <utility>

#include "core/layout.h"

namespace shiftgrad::test {

/// Calls visit(index) for every index of a shape, in row-major order.
template <class Visit>
void for_each_index(const Dims& shape, Visit visit) {
  Dims index = Dims::filled(shape.size(), 0);
  for (int64_t rest = product(shape); rest > 0; --rest) {
    visit(std::as_const(index));
    for (int axis = shape.size() - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis)
      index[axis] = 0;
  }
}

/// Where the element with this index lies in the buffer: the formula at the top of core/layout.h.
inline int64_t position(const Layout& layout, const Dims& index) {
  int64_t at = layout.offset;
  for (int axis = 0; axis < index.size(); ++axis) at += index[axis] * layout.strides[axis];
  return at;
}

}  // namespace shiftgrad::test
