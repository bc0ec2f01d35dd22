// Tells which elements of a buffer a layout reaches: whether all of them lie inside, whether it
// leaves any out, and whether it reaches any twice.

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/layout.h"
#include "core/walk.h"

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

/// Whether a layout has all of its own stretch, and with it the first or last element of another.
bool fills(const Layout& layout, const Stretch& own, const Stretch& other) {
  auto holds = [&](int64_t position) { return own.begin <= position && position < own.end; };
  return layout.count() == own.end - own.begin && !layout.is_broadcast() &&
         (holds(other.begin) || holds(other.end - 1));
}

}  // namespace

std::optional<Stretch> Layout::stretch() const {
  Stretch all{offset, offset};
  if (count() == 0) return all;
  bool known = !__builtin_add_overflow(offset, 1, &all.end);
  for (int axis = 0; axis < rank(); ++axis) {
    int64_t reach = 0;
    int64_t& end = strides[axis] < 0 ? all.begin : all.end;
    known = known && !__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach) &&
            !__builtin_add_overflow(end, reach, &end);
  }
  return known ? std::optional(all) : std::nullopt;
}

bool Layout::fits(int64_t size) const {
  if (count() == 0) return true;
  std::optional<Stretch> all = stretch();
  return all && all->begin >= 0 && all->end <= size;
}

bool Layout::meets(const Layout& other) const {
  std::optional<Stretch> mine = stretch(), others = other.stretch();
  if (!mine || !others || !mine->meets(*others)) return false;
  if (fills(*this, *mine, *others) || fills(other, *others, *mine)) return true;
  std::vector<bool> reached(static_cast<size_t>(mine->end - mine->begin));
  auto visit = [&](const Layout& layout, auto at) {
    Walk<1>({&layout}).range(0, layout.count(), [&](const Walk<1>::Run& run) {
      for (int64_t n = 0; n < run.length; ++n) at(run.at[0] + n * run.step[0]);
    });
  };
  visit(*this, [&](int64_t position) { reached[position - mine->begin] = true; });
  bool met = false;
  visit(other, [&](int64_t position) {
    met =
        met || (position >= mine->begin && position < mine->end && reached[position - mine->begin]);
  });
  return met;
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
