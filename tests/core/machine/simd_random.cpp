#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "core/machine/simd_random.h"
#include "core/random.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/oracles/philox.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("philox: many blocks at once, from any index on, are those one by one") {
  constexpr uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e;
  for (uint64_t first : {uint64_t{0}, uint64_t{3}, uint64_t{0xfffffffa}, uint64_t{1} << 63})
    for (size_t count = 0; count <= 20; ++count)
      on_every_instruction_set([&] {
        std::vector<PhiloxBlock> blocks(count + 1, PhiloxBlock{1, 2, 3, 4});
        philox(seed, stream, first, std::span(blocks).first(count));
        for (size_t n = 0; n < count; ++n)
          CHECK(blocks[n] == philox_oracle(seed, stream, first + n));
        CHECK(blocks[count] == PhiloxBlock{1, 2, 3, 4});
      });
}

TEST_CASE("Box and Muller in vectors are as near to <cmath> as they say") {
  std::vector<double> edges{0x1p-53, 0x1p-30, 0.25, 0.5, 0.75, 1 - 0x1p-53}, positives, turns;
  for (double p : edges)
    for (double t : edges)
      for (double near : {std::nextafter(t, 0), t, std::nextafter(t, 1)}) {
        positives.insert(positives.end(), {p, 1});
        turns.insert(turns.end(), {std::min(near, 1 - 0x1p-53), 0});
      }
  Random random{.seed = 8};
  while (positives.size() < 20'001) {
    positives.push_back(1 - random.uniform());
    turns.push_back(random.uniform());
  }
  on_every_instruction_set([&] {
    std::vector<double> numbers(positives.size() + 1, 7);
    near_box_muller(positives, turns.data(), numbers.data());
    double worst = 0;
    for (size_t n = 0; n < positives.size(); ++n) {
      double exact =
          std::sqrt(-2 * std::log(positives[n])) * std::cos(2 * std::numbers::pi * turns[n]);
      worst = std::max(worst, std::abs(numbers[n] - exact));
    }
    CHECK(worst < box_muller_error / 16);
    CHECK(numbers.back() == 7);
  });
}

TEST_CASE("Random: floats are drawn as doubles are, and rounded") {
  on_every_instruction_set([] {
    for (double deviation : {1.0, 0.02, 1e-38, 1e-46, 1e-300, 1e39, 0.0})
      for (size_t count : {0, 1, 63, 64, 65, 20'000}) {
        Random one{3, 4, 5}, many = one;
        std::vector<float> numbers(count);
        many.normal(numbers, deviation);
        for (float number : numbers) {
          auto expected = static_cast<float>(deviation * one.normal());
          REQUIRE(std::bit_cast<uint32_t>(number) == std::bit_cast<uint32_t>(expected));
        }
        CHECK(many == one);
      }
  });
}
