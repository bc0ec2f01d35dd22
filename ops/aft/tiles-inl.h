// The tiles in which queries meet the keys of their window.
//
// A kernel includes this once for each instruction set, so there is no guard.

#include <algorithm>

#include "ops/aft/products.h"
#include "ops/aft/terms-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

/// The queries of a block that are summed up together, so that their sums stay in registers.
constexpr int64_t together = std::min<int64_t>(lanes, 8);

/// A block of queries with some keys of its window, few enough to stay in the nearest cache.
constexpr int64_t most_keys = 64;
struct Tile {
  int64_t first;  // the block's first query
  Interval keys;
  int64_t shared;         // the key after those that all queries of the block see
  const Number* weights;  // [keys, lanes]
};

/// Calls body(tile) for all tiles of the queries at hand.
template <class Body>
HWY_INLINE void for_tiles(const KeyTerms& terms, const Number* weights, Body body) {
  const AftBlocks& cut = terms.cut;
  auto [first, end] = terms.blocks();
  int64_t seen = cut.p.end(terms.end - 1);
  for (int64_t begin = 0; begin < seen; begin += most_keys) {
    while (first < end && cut.window(first).end <= begin) ++first;
    for (int64_t block = first; block < end; ++block) {
      Interval window = cut.window(block);
      if (window.begin >= begin + most_keys) break;
      Interval keys{std::max(window.begin, begin), std::min({window.end, begin + most_keys, seen})};
      if (keys.size() <= 0) continue;
      int64_t query = block * lanes;
      body(Tile{query, keys, std::clamp(cut.p.end(query), keys.begin, keys.end),
                weights + block * cut.block_size + (keys.begin - window.begin) * lanes});
    }
  }
}

/// The number of keys of a tile that query r of its block sees, beyond those that all see.
HWY_INLINE int64_t own_keys(const AftProblem& p, const Tile& tile, int64_t r) {
  return std::min(tile.keys.end, p.end(tile.first + r)) - tile.shared;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
