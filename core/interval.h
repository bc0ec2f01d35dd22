#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace shiftgrad {

/// The positions begin … end-1, of a buffer or a sequence.
struct Interval {
  /// The first position, and the one behind the last.
  int64_t begin, end;

  /// The number of positions.
  int64_t size() const { return end - begin; }
  /// Whether a position is in it.
  bool contains(int64_t position) const { return begin <= position && position < end; }
  /// Whether a position is in both.
  bool intersects(const Interval& other) const { return begin < other.end && other.begin < end; }
};

/// Adds an interval to a list, merged with its neighbours.
void add_interval(std::vector<Interval>& list, Interval part);
/// Takes an interval out of those of a list.
void remove_interval(std::vector<Interval>& list, const Interval& part);

}  // namespace shiftgrad
