#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/errors.h"
#include "core/machine/simd_random.h"

namespace shiftgrad {

namespace {

uint64_t join(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

/// Draws the next four words of the sequence.
PhiloxBlock draw(Random& random) { return philox(random.seed, random.stream, random.counter++); }

/// Maps the top 53 of 64 random bits to a number in [0, 1).
double fine_unit_interval(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// The two numbers of a block from which Box and Muller make a normal one.
struct Pair {
  double positive, turn;
};

Pair pair_of(const PhiloxBlock& word) {
  return {1 - fine_unit_interval(join(word[1], word[0])),
          fine_unit_interval(join(word[3], word[2]))};
}

double uniform_of(const PhiloxBlock& word) { return fine_unit_interval(join(word[1], word[0])); }

double normal_of(const PhiloxBlock& word) {
  auto [positive, turn] = pair_of(word);
  return std::sqrt(-2 * std::log(positive)) * std::cos(2 * std::numbers::pi * turn);
}

constexpr size_t batch = 64;

/// Draws the next blocks of the sequence, and lets `fill(blocks, part)` make a number of each.
template <class Number>
void draw_batches(Random& random, std::span<Number> numbers, auto fill) {
  std::array<PhiloxBlock, batch> blocks;
  while (!numbers.empty()) {
    std::span drawn = std::span(blocks).first(std::min(batch, numbers.size()));
    philox(random.seed, random.stream, random.counter, drawn);
    fill(std::span<const PhiloxBlock>(drawn), numbers.first(drawn.size()));
    random.counter += drawn.size();
    numbers = numbers.subspan(drawn.size());
  }
}

/// Writes deviation · normal_of(block) as floats. Vectors come close to it. If all that is so close
/// rounds to one float, and to no zero of either sign, it is that float; else it is computed as in
/// normal_of.
void write_normals(std::span<const PhiloxBlock> blocks, std::span<float> numbers,
                   double deviation) {
  std::array<double, batch> positives, turns, near;
  for (size_t n = 0; n < blocks.size(); ++n) {
    auto [positive, turn] = pair_of(blocks[n]);
    positives[n] = positive, turns[n] = turn;
  }
  near_box_muller(std::span<const double>(positives).first(blocks.size()), turns.data(),
                  near.data());
  for (size_t n = 0; n < blocks.size(); ++n) {
    auto low = static_cast<float>(deviation * (near[n] - box_muller_error));
    auto high = static_cast<float>(deviation * (near[n] + box_muller_error));
    numbers[n] =
        low == high && low != 0 ? low : static_cast<float>(deviation * normal_of(blocks[n]));
  }
}

}  // namespace

double Random::uniform() { return uniform_of(draw(*this)); }
double Random::normal() { return normal_of(draw(*this)); }

void Random::uniform(std::span<double> numbers) {
  draw_batches(*this, numbers, [](auto blocks, auto part) {
    std::transform(blocks.begin(), blocks.end(), part.begin(), uniform_of);
  });
}

void Random::normal(std::span<double> numbers, double deviation) {
  draw_batches(*this, numbers, [&](auto blocks, auto part) {
    std::transform(blocks.begin(), blocks.end(), part.begin(),
                   [&](const PhiloxBlock& block) { return deviation * normal_of(block); });
  });
}

void Random::normal(std::span<float> numbers, double deviation) {
  draw_batches(*this, numbers,
               [&](auto blocks, auto part) { write_normals(blocks, part, deviation); });
}

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
