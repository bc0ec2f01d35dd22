#pragma once

#include "core/walk.h"

namespace shiftgrad {

/// Calls body(x, y) for each line along `axis`, with the places of its first element in two layouts
/// that differ in the size of this axis alone. Lines are shared out among the threads.
void for_each_line(Layout x, Layout y, int64_t axis, auto body) {
  x.shape[axis] = y.shape[axis] = 1;
  const Walk<2> lines({&x, &y});
  parallel_ranges(lines.count(), 64, [&](int64_t begin, int64_t end) {
    lines.each(begin, end, [&](const auto& at) { body(at[0], at[1]); });
  });
}

}  // namespace shiftgrad
