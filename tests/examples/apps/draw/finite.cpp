#include "examples/apps/draw/finite.h"

#include <cmath>

#include "examples/apps/draw/fixed.h"
#include "tests/support/refusal.h"

using namespace apps;

TEST_CASE("finite and fixed: a result is a number, or it is named") {
  CHECK(finite(-1.5, "the loss") == -1.5);
  CHECK(fixed(1.2345, 2) == "1.23");
  // The sign of a computed NaN depends on the CPU, and is not printed.
  for (double nan : {std::nan(""), -std::nan("")}) {
    CHECK(refusal([&] { finite(nan, "the loss"); }) == "the loss: nan, expected a finite number");
    CHECK(refusal([&] { fixed(nan, 3); }) == "a result: nan, expected a finite number");
  }
  CHECK(refusal([] { fixed(INFINITY, 3); }) == "a result: inf, expected a finite number");
  CHECK(refusal([] { finite(-INFINITY, "x"); }) == "x: -inf, expected a finite number");
}
