#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/errors.h"

namespace shiftgrad {

namespace {

uint64_t join(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

/// Draws the next four words of the sequence.
PhiloxBlock draw(Random& random) { return philox(random.seed, random.stream, random.counter++); }

/// Maps the top 53 of 64 random bits to a number in [0, 1).
double fine_unit_interval(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

double uniform_of(const PhiloxBlock& word) { return fine_unit_interval(join(word[1], word[0])); }

double normal_of(const PhiloxBlock& word) {
  double positive = 1 - fine_unit_interval(join(word[1], word[0]));
  double turn = fine_unit_interval(join(word[3], word[2]));
  return std::sqrt(-2 * std::log(positive)) * std::cos(2 * std::numbers::pi * turn);
}

/// Draws the next blocks of the sequence, and makes a number of each.
void draw_each(Random& random, std::span<double> numbers, double number_of(const PhiloxBlock&)) {
  std::array<PhiloxBlock, 64> blocks;
  while (!numbers.empty()) {
    std::span drawn = std::span(blocks).first(std::min(blocks.size(), numbers.size()));
    philox(random.seed, random.stream, random.counter, drawn);
    std::transform(drawn.begin(), drawn.end(), numbers.begin(), number_of);
    random.counter += drawn.size();
    numbers = numbers.subspan(drawn.size());
  }
}

}  // namespace

double Random::uniform() { return uniform_of(draw(*this)); }
double Random::normal() { return normal_of(draw(*this)); }
void Random::uniform(std::span<double> numbers) { draw_each(*this, numbers, uniform_of); }
void Random::normal(std::span<double> numbers) { draw_each(*this, numbers, normal_of); }

int64_t Random::below(int64_t n) {
  require(n >= 1, "Random::below: ", n, ": expected at least 1");
  // The 2^64 words are cut into groups of n; words of the last, incomplete group are drawn again.
  auto count = static_cast<uint64_t>(n);
  uint64_t last = std::numeric_limits<uint64_t>::max();
  uint64_t incomplete = (last % count + 1) % count;
  uint64_t drawn = next_stream();
  while (drawn > last - incomplete) drawn = next_stream();
  return static_cast<int64_t>(drawn % count);
}

uint64_t Random::next_stream() {
  auto word = draw(*this);
  return join(word[1], word[0]);
}

}  // namespace shiftgrad
