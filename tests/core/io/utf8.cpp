#include "core/io/utf8.h"

#include <doctest/doctest.h>

#include <vector>

using namespace shiftgrad;
using Kind = Utf8::Kind;

namespace {

/// All code points of Unicode but the surrogates, which are no characters.
template <class Action>
void for_each_code_point(Action action) {
  for (int32_t code = 0; code <= 0x10FFFF; ++code)
    if (code < 0xD800 || code > 0xDFFF) action(code);
}

}  // namespace

TEST_CASE("UTF-8: every code point reads back as it was written, and its parts are cut") {
  int64_t wrong = 0;
  for_each_code_point([&](int32_t code) {
    std::string bytes = to_utf8(code);
    Utf8 whole = read_utf8(bytes + "x");
    wrong += whole.kind != Kind::whole || whole.code != code || whole.length != bytes.size();
    for (size_t length = 1; length < bytes.size(); ++length) {
      Utf8 cut = read_utf8(bytes.substr(0, length));
      wrong += cut.kind != Kind::cut || cut.length != length;
      wrong += read_utf8(bytes.substr(0, length) + "x").kind != Kind::broken;
    }
  });
  CHECK(wrong == 0);
  CHECK(to_utf8(0xE9) == "é");
  CHECK(to_utf8(0x20AC) == "€");
  CHECK(to_utf8(0x1F600) == "😀");
}

TEST_CASE("UTF-8: there are as many whole sequences of two and three bytes as characters") {
  int64_t two = 0, three = 0;
  for (int first = 0x80; first < 0x100; ++first)
    for (int second = 0; second < 0x100; ++second) {
      std::string pair{static_cast<char>(first), static_cast<char>(second)};
      two += read_utf8(pair).kind == Kind::whole;
      for (int third = 0; third < 0x100; ++third)
        three += read_utf8(pair + static_cast<char>(third)).length == 3;
    }
  CHECK(two == 0x800 - 0x80);
  // This counts the beginnings of characters of four bytes too.
  CHECK(three == 0x10000 - 0x800 - 0x800 + 0x100000 / 64);
}

TEST_CASE("UTF-8: overlong forms, surrogates and code points beyond Unicode are broken") {
  for (const char* bytes : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                            "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"})
    CHECK(read_utf8(bytes).kind == Kind::broken);
}
