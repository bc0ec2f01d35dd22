#include "core/errors.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/foreign_locale.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

TEST_CASE("text: the parts as they are printed, and NaN without a sign") {
  CHECK(text("a ", 1, '/', 2.5, " ", true, ' ', std::string("b")) == "a 1/2.5 1 b");
  CHECK(text(std::boolalpha, true, " ", false) == "true false");
  double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(text(std::copysign(nan, 1.0), ' ', std::copysign(nan, -1.0)) == "nan nan");
  CHECK(text(std::copysign(static_cast<float>(nan), -1.0F)) == "nan");
  CHECK(text(-std::numeric_limits<double>::infinity(), " ", -0.0) == "-inf -0");
}

TEST_CASE("text: numbers of the classic locale, whatever the program's is") {
  ForeignLocale locale;
  CHECK(text("blocks.", 1000, ' ', 10.5, ' ', 1234567.0F) == "blocks.1000 10.5 1.23457e+06");
  CHECK(refusal([] { fail(12, " tokens"); }) == "12 tokens");
}

TEST_CASE("fail: a zero byte does not end the message") {
  std::string name("a\0b\0", 4);
  CHECK(refusal([&] { fail(name, ": no"); }) == "a\\0b\\0: no");
  CHECK(refusal([&] { in_name_of(name, [] { fail("no"); }); }) == "a\\0b\\0: no");
  CHECK(refusal([&] { in_name_of(name, [] { throw std::bad_alloc(); }); }) ==
        "a\\0b\\0: too large for the memory");
}
