#include "ops/creation.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("randn draws the generator's normal numbers, in row-major order") {
  Random random{.seed = 3}, same = random;
  Tensor x = randn({20, 500}, random);
  CHECK(x.shape() == Dims{20, 500});
  double mean = 0, square = 0;
  bool equal = true;
  for (Scalar value : x.values()) {
    equal = equal && value == static_cast<Scalar>(same.normal());
    mean += static_cast<double>(value) / 1e4;
    square += static_cast<double>(value * value) / 1e4;
  }
  CHECK(equal);
  CHECK(random == same);
  CHECK(std::abs(mean) < 0.05);
  CHECK(std::abs(square - 1) < 0.05);
  CHECK_FALSE(same_bits(randn({20, 500}, random), x));
  CHECK(randn({0, 3}, random).count() == 0);
}

TEST_CASE("arange stops before its end") {
  using Scalars = std::vector<Scalar>;
  CHECK(arange(4).values() == Scalars{0, 1, 2, 3});
  CHECK(arange(2, 4.5).values() == Scalars{2, 3, 4});
  CHECK(arange(0, 1, 0.25).values() == Scalars{0, 0.25, 0.5, 0.75});
  CHECK(arange(3, 0, -1).values() == Scalars{3, 2, 1});
  CHECK(arange(3, 3).values().empty());
  CHECK(arange(0).shape() == Dims{0});
  // Each number by itself: sums of 0.1 would drift away.
  CHECK(arange(0, 1000, 0.1).count() == 10000);
  CHECK(arange(0, 1000, 0.1)[9999].item() == static_cast<Scalar>(9999 * 0.1));
}

TEST_CASE("arange refuses what leads nowhere") {
  const std::string expected = ", expected numbers, and a step towards the end";
  CHECK(refusal([] { arange(3, 0); }) == "arange: 3 to 0 by 1" + expected);
  CHECK(refusal([] { arange(5, 4.5); }) == "arange: 5 to 4.5 by 1" + expected);
  CHECK(refusal([] { arange(4.5, 5, -1); }) == "arange: 4.5 to 5 by -1" + expected);
  CHECK(refusal([] { arange(0, 3, 0); }) == "arange: 0 to 3 by 0" + expected);
  CHECK(refusal([] { arange(0, 3, -1); }) == "arange: 0 to 3 by -1" + expected);
  CHECK(refusal([] { arange(static_cast<double>(not_a_number)); }) ==
        "arange: 0 to nan by 1" + expected);
  CHECK(refusal([] { arange(static_cast<double>(infinity)); }) ==
        "arange: 0 to inf by 1" + expected);
  CHECK(refusal([] { arange(1e18); }) ==
        "arange: 0 to 1e+18 by 1, which are 1e+18 numbers, expected fewer");
}
