#include "examples/apps/draw/json_text.h"

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/random.h"
#include "tests/support/refusal.h"

using namespace apps;
using nlohmann::json;

namespace {

/// What `action` writes to standard output.
template <class Action>
std::string printed(Action action) {
  std::ostringstream out;
  std::streambuf* before = std::cout.rdbuf(out.rdbuf());
  action();
  std::cout.rdbuf(before);
  return out.str();
}

}  // namespace

TEST_CASE("utf8_of: UTF-8 stays as it is") {
  for (std::string text : {"", "runs/a b", "Grüße, 10 €, 😀", "a\\x\"\n\t\x01", "\uF7E9",
                           "\U0010F77F", "\U0010F800", "\U0010FFFF"}) {
    CHECK(utf8_of(text) == text);
    CHECK(bytes_of(text) == text);
  }
}

TEST_CASE("utf8_of: a byte that is no UTF-8 becomes the code point U+10F700 + byte") {
  CHECK(utf8_of("g\xE9n.txt") == "g\U0010F7E9n.txt");
  CHECK(utf8_of("\x80\xFF") == "\U0010F780\U0010F7FF");
  // The first two bytes of €, a surrogate, and an overlong slash.
  CHECK(utf8_of("\xE2\x82") == "\U0010F7E2\U0010F782");
  CHECK(utf8_of("\xED\xA0\x80") == "\U0010F7ED\U0010F7A0\U0010F780");
  CHECK(utf8_of("\xC0\xAF") == "\U0010F7C0\U0010F7AF");
  // Such a code point itself is not mistaken for a byte.
  CHECK(utf8_of("\U0010F7E9") == "\U0010F7F4\U0010F78F\U0010F79F\U0010F7A9");
}

TEST_CASE("bytes_of: gives all bytes back, whatever they are") {
  shiftgrad::Random random{.seed = 1};
  // Mostly bytes of the code points that are used for this, so that these occur.
  const std::string likely = "\xF4\x8F\x9E\x9F\xA9\xBF\x80\xE2\x82/";
  for (int n = 0; n < 2000; ++n) {
    std::string bytes;
    for (int64_t length = random.below(12); length > 0; --length)
      bytes += random.below(4) > 0 ? likely[static_cast<size_t>(random.below(std::ssize(likely)))]
                                   : static_cast<char>(random.below(256));
    CHECK(bytes_of(utf8_of(bytes)) == bytes);
    CHECK(json::parse(json(utf8_of(bytes)).dump()) == utf8_of(bytes));
  }
}

TEST_CASE("print_json: one line with texts of any bytes, or nothing") {
  json figure = {{"characters", {"a", "\xC3", "\n"}}, {"weights", {{0.5, 1}}}};
  CHECK(printed([&] { print_json(figure); }) ==
        "{\"characters\":[\"a\",\"\U0010F7C3\",\"\\n\"],\"weights\":[[0.5,1]]}\n");
  for (double value : {NAN, -NAN, INFINITY, -INFINITY}) {
    figure["weights"][0][1] = value;
    std::string expected = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf", refused;
    CHECK(printed([&] { refused = refusal([&] { print_json(figure); }); }).empty());
    CHECK(refused == "a number of the figure: " + expected + ", expected a finite number");
  }
}
