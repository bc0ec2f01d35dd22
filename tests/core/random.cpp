#include "core/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

constexpr int draws = 100'000;

/// Draws from a fixed seed: the tests below cannot fail by chance.
template <class Draw>
std::vector<double> drawn(Draw draw) {
  Random random{42, 7};
  std::vector<double> numbers(draws);
  for (double& number : numbers) number = static_cast<double>(draw(random));
  return numbers;
}

/// The mean of the numbers' powers is `expected` to within five standard errors.
void check_moment(const std::vector<double>& numbers, int power, double expected, double variance) {
  double total = 0;
  for (double number : numbers) total += std::pow(number, power);
  CAPTURE(power);
  CHECK(std::abs(total / draws - expected) < 5 * std::sqrt(variance / draws));
}

}  // namespace

// Random123 1.14, tests/kat_vectors, "philox4x32 10".
TEST_CASE("philox: the published vectors") {
  using Words = std::array<uint32_t, 4>;
  CHECK(philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint64_t ones = std::numeric_limits<uint64_t>::max();
  CHECK(philox(ones, ones, ones) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("unit_interval: from 0 to just below 1") {
  CHECK(unit_interval(0) == 0);
  CHECK(unit_interval(0x80000000) == 0.5);
  CHECK(unit_interval(0xffffffff) == 1 - 0x1p-32);
}

TEST_CASE("Random: uniform numbers have the moments of [0, 1)") {
  auto numbers = drawn([](Random& random) { return random.uniform(); });
  CHECK(*std::min_element(numbers.begin(), numbers.end()) >= 0);
  CHECK(*std::max_element(numbers.begin(), numbers.end()) < 1);
  for (int power = 1; power <= 4; ++power) {
    double mean = 1.0 / (power + 1);
    check_moment(numbers, power, mean, 1.0 / (2 * power + 1) - mean * mean);
  }
}

TEST_CASE("Random: normal numbers have the moments of N(0, 1)") {
  auto numbers = drawn([](Random& random) { return random.normal(); });
  // E xⁿ is (n-1)!! for an even n and 0 for an odd one.
  check_moment(numbers, 1, 0, 1);
  check_moment(numbers, 2, 1, 3 - 1);
  check_moment(numbers, 3, 0, 15);
  check_moment(numbers, 4, 3, 105 - 9);
}

TEST_CASE("Random: below draws each number equally often") {
  constexpr int n = 7;
  std::array<int, n> seen = {};
  for (double number : drawn([](Random& random) { return random.below(n); }))
    ++seen.at(static_cast<size_t>(number));
  double probability = 1.0 / n;
  double error = std::sqrt(probability * (1 - probability) * draws);
  for (int count : seen) CHECK(std::abs(count - probability * draws) < 5 * error);
}

// 2^64 = 2 n + 2 n / 3 for this n, so that a plain remainder would draw from the lower two thirds
// with a probability of 3/4.
TEST_CASE("Random: below is unbiased for a large n") {
  constexpr int64_t n = int64_t{3} << 61;
  int lower = 0;
  for (double number : drawn([](Random& random) { return random.below(n); }))
    lower += number < 2.0 / 3 * static_cast<double>(n);
  CHECK(std::abs(lower - 2.0 / 3 * draws) < 5 * std::sqrt(2.0 / 9 * draws));
}

TEST_CASE("Random: below has a lower bound") {
  Random random;
  CHECK(random.below(1) == 0);
  CHECK(refusal([&] { random.below(0); }) == "Random::below: 0: expected at least 1");
}

TEST_CASE("Random: three integers are the whole state") {
  Random random{1, 2};
  for (int n = 0; n < 10; ++n) random.normal();
  Random resumed{random.seed, random.stream, random.counter};
  CHECK(resumed == random);
  CHECK(resumed.normal() == random.normal());
  CHECK(resumed.below(1000) == random.below(1000));
  CHECK(resumed == random);
  random.uniform();
  CHECK_FALSE(resumed == random);
}

TEST_CASE("Random: seeds, streams and draws all differ") {
  std::set<double> numbers;
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (uint64_t stream = 0; stream < 10; ++stream) {
      Random random{seed, stream};
      for (int n = 0; n < 10; ++n) numbers.insert(random.uniform());
    }
  CHECK(numbers.size() == 1000);

  Random random;
  std::set<uint64_t> streams;
  for (int n = 0; n < 1000; ++n) streams.insert(random.next_stream());
  CHECK(streams.size() == 1000);
}

TEST_CASE("Random: many numbers at once are those of as many calls") {
  for (size_t count : {0, 1, 63, 64, 65, 1000}) {
    Random one{3, 4, 5}, many = one;
    std::vector<double> numbers(count), uniform(count);
    many.normal(numbers);
    many.uniform(uniform);
    for (double number : numbers) REQUIRE(number == one.normal());
    for (double number : uniform) REQUIRE(number == one.uniform());
    CHECK(many == one);
  }
}
