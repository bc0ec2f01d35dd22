#include "core/range.h"

#include <cmath>

#include "tests/support/refusal.h"

using namespace shiftgrad;

TEST_CASE("range: what is inside is not complained of") {
  CHECK(range_error(0, range::zero_or_more).empty());
  CHECK(range_error(1e9, range::zero_or_more).empty());
  CHECK(range_error(0, range::less_than_one).empty());
  CHECK(range_error(1, range::share).empty());
  CHECK(range_error(0.5, range::proper_share).empty());
}

TEST_CASE("range: of a wide range the bound that was crossed is named") {
  CHECK(range_error(0, range::one_or_more) == ", expected at least 1");
  CHECK(range_error(1e9 + 1, range::one_or_more) == ", expected at most 1000000000");
  CHECK(range_error(0, range::positive) == ", expected more than 0");
  CHECK(range_error(NAN, range::rate) == ", expected at least 0");
  CHECK(range_error(INFINITY, range::rate) == ", expected at most 1e+38");
  CHECK(range_error(2e12, range::steps) == ", expected at most 1000000000000");
}

TEST_CASE("range: a narrow range is named whole") {
  CHECK(range_error(1.5, range::probability) == ", expected 0 to 1");
  CHECK(range_error(1, range::less_than_one) == ", expected 0 to less than 1");
  CHECK(range_error(0, range::share) == ", expected more than 0 and at most 1");
  CHECK(range_error(1, range::proper_share) == ", expected more than 0 and less than 1");
  CHECK(range_error(NAN, range::probability) == ", expected 0 to 1");
}
