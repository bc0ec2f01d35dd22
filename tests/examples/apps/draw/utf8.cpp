#include "examples/apps/draw/utf8.h"

#include <doctest/doctest.h>

#include <vector>

using namespace apps;

TEST_CASE("byte order mark: is dropped at the start, once") {
  auto without = [](std::string text) {
    drop_byte_order_mark(text);
    return text;
  };
  CHECK(without("\xEF\xBB\xBF"
                "a") == "a");
  CHECK(without("\xEF\xBB\xBF") == "");
  CHECK(without("\xEF\xBB\xBF\xEF\xBB\xBF") == "\xEF\xBB\xBF");
  for (const char* other : {"", "a", "\xEF\xBB", "\xEF\xBB\xBE", "a\xEF\xBB\xBF"})
    CHECK(without(other) == other);
}

TEST_CASE("whole characters: a character comes out with its last byte") {
  WholeCharacters shown;
  std::vector<std::string> pieces;
  for (char byte : std::string("aé€😀b")) pieces.push_back(shown.add({&byte, 1}));
  CHECK(pieces == std::vector<std::string>{"a", "", "é", "", "", "€", "", "", "", "😀", "b"});
  CHECK(shown.rest().empty());
}

TEST_CASE(
    "whole characters: bytes that cannot become a character come out as soon as that is known") {
  WholeCharacters shown;
  CHECK(shown.add("\xE2\x82") == "");
  CHECK(shown.add("x") == "\xE2\x82x");
  CHECK(shown.add("\x80\xFF") == "\x80\xFF");
  CHECK(shown.add("\xE2") == "");
  CHECK(shown.add("\xE2") == "\xE2");
  CHECK(shown.add("\x82\xAC\xF0\x9F") == "€");
  CHECK(shown.rest() == "\xF0\x9F");
  CHECK(shown.rest() == "");
}
