#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace shiftgrad {

/// The positions begin … end-1, of a buffer or a sequence.
struct Stretch {
  /// The first position, and the one behind the last.
  int64_t begin, end;

  /// The number of positions.
  int64_t size() const { return end - begin; }
  /// Whether a position is in both.
  bool intersects(const Stretch& other) const { return begin < other.end && other.begin < end; }
};

/// Adds a stretch to a list, merged with its neighbours.
void add_stretch(std::vector<Stretch>& list, Stretch part);
/// Takes a stretch out of those of a list.
void remove_stretch(std::vector<Stretch>& list, const Stretch& part);

}  // namespace shiftgrad
