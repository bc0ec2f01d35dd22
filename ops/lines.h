#pragma once

#include "core/walk.h"

namespace shiftgrad {

/// Calls body(x, y) for each line along `axis`, with the places of its first element in two layouts
/// that differ in the size of this axis alone. Lines are shared out among the threads.
void for_each_line(Layout x, Layout y, int axis, auto body) {
  x.shape[axis] = y.shape[axis] = 1;
  auto each = [&](const auto& run) {
    for (int64_t n = 0; n < run.length; ++n)
      body(run.at[0] + n * run.step[0], run.at[1] + n * run.step[1]);
  };
  Walk<2>({&x, &y}).parallel(each, 64);
}

}  // namespace shiftgrad
