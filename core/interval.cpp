// Which elements of a buffer a layout has, and what two of them have in common.

#include "core/interval.h"

#include <algorithm>
#include <cstdlib>

#include "core/layout.h"
#include "core/walk.h"

namespace shiftgrad {

void add_interval(std::vector<Interval>& list, Interval part) {
  std::erase_if(list, [&](const Interval& known) {
    if (known.end < part.begin || part.end < known.begin) return false;
    part = {std::min(known.begin, part.begin), std::max(known.end, part.end)};
    return true;
  });
  list.push_back(part);
}

void remove_interval(std::vector<Interval>& list, const Interval& part) {
  std::vector<Interval> rest;
  for (const Interval& known : list) {
    if (known.begin < part.begin) rest.push_back({known.begin, std::min(known.end, part.begin)});
    if (part.end < known.end) rest.push_back({std::max(known.begin, part.end), known.end});
  }
  list = std::move(rest);
}

namespace {

/// Whether no two indices share an element, other than by a stride of 0, judged by sorted strides.
bool nests(const Layout& layout) {
  if (layout.is_contiguous()) return true;
  auto steps = [&](int64_t axis) { return layout.shape[axis] > 1 && layout.strides[axis] != 0; };
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

/// Whether a layout has all of its own interval, and with it the first or last element of another.
bool fills(const Layout& layout, const Interval& own, const Interval& other) {
  return layout.count() == own.size() && !layout.is_broadcast() &&
         (own.contains(other.begin) || own.contains(other.end - 1));
}

}  // namespace

std::optional<Interval> Layout::interval() const {
  Interval all{offset, offset};
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
  std::optional<Interval> all = interval();
  return all && (all->begin == all->end || (all->begin >= 0 && all->end <= size));
}

bool Layout::intersects(const Layout& other) const {
  std::optional<Interval> mine = interval(), others = other.interval();
  if (!mine || !others || !mine->intersects(*others)) return false;
  if (fills(*this, *mine, *others) || fills(other, *others, *mine)) return true;
  std::vector<bool> reached(static_cast<size_t>(mine->size()));
  Walk<1>({this}).each(0, count(), [&](const auto& at) { reached[at[0] - mine->begin] = true; });
  bool met = false;
  Walk<1>({&other}).each(0, other.count(), [&](const auto& at) {
    met = met || (mine->begin <= at[0] && at[0] < mine->end && reached[at[0] - mine->begin]);
  });
  return met;
}

bool Layout::surely_disjoint(const Layout& other) const {
  if (strides != other.strides || rank() == Dims::max_rank) return false;
  Layout both{{2}, {other.offset - offset}};  // with an axis from the one to the other
  for (int axis = 0; axis < rank(); ++axis) {
    both.shape.push_back(std::max(shape[axis], other.shape[axis]));
    both.strides.push_back(strides[axis]);
  }
  return !both.is_broadcast() && !both.overlaps();
}

bool Layout::partition(const std::vector<const Layout*>& parts, int64_t size) {
  for (size_t n = 0; n < parts.size(); ++n) {
    if (parts[n]->is_broadcast()) return false;
    for (size_t before = 0; before < n; ++before)
      if (!parts[before]->surely_disjoint(*parts[n])) return false;
    size -= parts[n]->count();
  }
  return size == 0;
}

bool Layout::covers(int64_t size) const {
  bool forward = std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s >= 0; });
  return offset == 0 && count() == size && forward && !is_broadcast() && nests(*this);
}

bool Layout::overlaps() const { return count() > 0 && !nests(*this); }

}  // namespace shiftgrad
