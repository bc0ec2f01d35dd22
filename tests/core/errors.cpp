#include "core/errors.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace shiftgrad;

TEST_CASE("text: the parts as they are printed, and NaN without a sign") {
  CHECK(text("a ", 1, '/', 2.5, " ", true, ' ', std::string("b")) == "a 1/2.5 1 b");
  CHECK(text(std::boolalpha, true, " ", false) == "true false");
  double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(text(std::copysign(nan, 1.0), ' ', std::copysign(nan, -1.0)) == "nan nan");
  CHECK(text(std::copysign(static_cast<float>(nan), -1.0F)) == "nan");
  CHECK(text(-std::numeric_limits<double>::infinity(), " ", -0.0) == "-inf -0");
}
