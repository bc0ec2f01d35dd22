// What the tiles cover is what the kernel computes, so their number is its cost.

#include "ops/attention/tile.h"

#include <doctest/doctest.h>

using namespace shiftgrad;

namespace {

constexpr int64_t most_rows = AttentionProblem::most_rows, most_keys = 384;

/// The number of pairs in all tiles of one head of T queries and keys.
double pairs_in_tiles(int64_t T, const Visibility& visibility) {
  Tensor x = Tensor::zeros({1, 1, T, 1});
  RelativeAttention attention{.query = x, .key = x, .value = x, .visibility = visibility};
  AttentionProblem problem{attention};
  TileList tiles(problem);
  int64_t pairs = 0;
  for (int64_t number = 0; number < problem.blocks(); ++number) {
    AttentionBlock block(problem, 0, number);
    tiles.for_tiles(block, [&](const AttentionTile& tile) { pairs += tile.rows * tile.keys; });
  }
  return static_cast<double>(pairs);
}

/// Shows to each query the keys of its own part of `size` tokens.
Visibility parts(int64_t T, int64_t size) {
  Mask mask{{T, T}, {}};
  for (int64_t n = 0; n < T * T; ++n) mask.values.push_back(n / T / size != n % T / size);
  return {.hidden = std::make_shared<const Mask>(mask)};
}

}  // namespace

TEST_CASE("tiles: what a window or chunks hide is in none, so their number grows as the length") {
  for (const Visibility& visibility :
       {Visibility{{true, 256}}, Visibility{{false, Window{200, 55}}},
        Visibility{{.chunk = Chunk{128, 1}}},
        Visibility{{.causal = false, .chunk = Chunk{256, 0}}}}) {
    double few = pairs_in_tiles(2048, visibility), many = pairs_in_tiles(16384, visibility);
    CHECK(many <= 8.5 * few);
    CHECK(many <= 16384 * (256 + most_rows + 64));
  }
  CHECK(pairs_in_tiles(4096, {{true}}) <= 4096 * (4096 / 2 + most_rows));
}

TEST_CASE("tiles: those that masks hide as a whole are left out") {
  constexpr int64_t T = 2048, size = 512;
  CHECK(pairs_in_tiles(T, parts(T, size)) <= T * (size + 2 * most_keys));
  Visibility padded = parts(T, size);
  padded.padding = std::make_shared<const Mask>(Mask{{1, T}, std::vector<uint8_t>(T, 1)});
  CHECK(pairs_in_tiles(T, padded) == 0);
  padded.hidden = nullptr;
  CHECK(pairs_in_tiles(T, padded) == 0);
}
