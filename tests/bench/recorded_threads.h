#pragma once

// What a piece of work would have for several threads to do. recorded_threads.cpp stands in for
// core/machine/parallel.cpp: all tiles run on the calling thread, and each is timed.

#include <functional>
#include <string>
#include <typeinfo>
#include <vector>

namespace shiftgrad::bench {

/// One parallel region, and what the calling thread did alone before it.
struct Region {
  /// The type of what each tile runs, and null behind the last region.
  const std::type_info* body = nullptr;
  /// The seconds of that work alone, and those of each tile.
  double alone = 0;
  std::vector<double> tiles{};

  /// The name of the function that has the region.
  std::string name() const;
  /// The seconds of all tiles together.
  double work() const;
};

/// What ran, in order. The last region has no tiles, and what was done after all others.
using Recording = std::vector<Region>;

/// Returns what `work` did. Regions within a tile are part of it.
Recording recorded(const std::function<void()>& work);

}  // namespace shiftgrad::bench
