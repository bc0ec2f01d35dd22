#include "examples/char_lm/vocabulary.h"

#include "core/errors.h"
#include "examples/common/utf8.h"
#include "tests/support/refusal.h"

using namespace char_lm;

namespace {

Vocabulary vocabulary_of(Unit unit, std::string_view text) {
  Vocabulary vocabulary(unit);
  vocabulary.add(text, "text");
  return vocabulary;
}

std::string decoded(const Vocabulary& vocabulary, const std::vector<int32_t>& tokens) {
  std::string text;
  for (int32_t token : tokens) text += vocabulary.decode(token);
  return text;
}

/// Returns a function that gives the reason why a text cannot be encoded.
auto refusals(const Vocabulary& vocabulary) {
  return
      [&](std::string_view text) { return refusal([&] { vocabulary.encode(text, "--prompt"); }); };
}

const std::string unknown = "--prompt: the model does not know the character ";

}  // namespace

TEST_CASE("Vocabulary: the distinct units of a text in rising order") {
  Vocabulary bytes = vocabulary_of(Unit::byte, "banana\n\xff");
  CHECK(bytes.codes() == std::vector<int32_t>{'\n', 'a', 'b', 'n', 0xff});
  CHECK(bytes.size() == 5);
  Vocabulary characters = vocabulary_of(Unit::character, "ananás €\n");
  CHECK(characters.codes() == std::vector<int32_t>{'\n', ' ', 'a', 'n', 's', 0xE1, 0x20AC});
  characters.add("", "empty");
  CHECK(characters.size() == 7);
  characters.add("😀", "another");
  CHECK(characters.codes().back() == 0x1F600);
  CHECK(characters.size() == 8);
}

TEST_CASE("Vocabulary: decode undoes encode") {
  std::string text;
  for (int byte = 255; byte >= 0; --byte) text += static_cast<char>(byte);
  Vocabulary bytes = vocabulary_of(Unit::byte, text);
  std::vector<int32_t> tokens = bytes.encode(text, "x");
  CHECK(tokens.front() == 255);
  CHECK(tokens.back() == 0);
  CHECK(decoded(bytes, tokens) == text);
  CHECK(bytes.encode("", "x").empty());

  const std::string mixed("a\0é€😀\n", 12);
  Vocabulary characters = vocabulary_of(Unit::character, mixed);
  tokens = characters.encode(mixed, "x");
  CHECK(tokens == std::vector<int32_t>{2, 0, 3, 4, 5, 1});
  CHECK(decoded(characters, tokens) == mixed);
}

TEST_CASE("Vocabulary: every character of Unicode has its token") {
  std::vector<int32_t> codes, falling;
  for (int32_t code = 0; code <= 0x10FFFF; ++code)
    if (code < 0xD800 || code > 0xDFFF) codes.push_back(code);
  std::string text;
  for (int32_t token = static_cast<int32_t>(codes.size()) - 1; token >= 0; --token) {
    text += common::to_utf8(codes[token]);
    falling.push_back(token);
  }
  Vocabulary characters = vocabulary_of(Unit::character, text);
  CHECK((characters.codes() == codes));
  CHECK((characters.encode(text, "x") == falling));
}

TEST_CASE("Vocabulary: an unknown byte is named by its character") {
  Vocabulary vocabulary = vocabulary_of(Unit::byte, "ab\xc3");
  auto refused = refusals(vocabulary);
  CHECK(refused("abc") == unknown + "'c', number 3");
  CHECK(refused("\n") == unknown + "U+000A, number 1");
  CHECK(refused(std::string_view("a\0", 2)) == unknown + "U+0000, number 2");
  CHECK(refused("a€") == unknown + "U+20AC '€', number 2");
  // The first byte of é is known, the second is not.
  CHECK(refused("aé") == unknown + "U+00E9 'é', number 3");
  CHECK(refused("\xc2\x80") == unknown + "U+0080, number 1");
  CHECK(refused("\xe2\x82") == unknown + "byte 0xE2, number 1");
  CHECK(refused("a\x80\x80\x80") == unknown + "byte 0x80, number 2");
}

TEST_CASE("Vocabulary: an unknown character is named, and counted in characters") {
  Vocabulary vocabulary = vocabulary_of(Unit::character, "aé");
  auto refused = refusals(vocabulary);
  CHECK(refused("éab") == unknown + "'b', number 3");
  CHECK(refused("éaè") == unknown + "U+00E8 'è', number 3");
  CHECK(refused("é😀") == unknown + "U+1F600 '😀', number 2");
}

TEST_CASE("Vocabulary: what is not UTF-8 is refused with its place") {
  auto refused = [](std::string_view text) {
    return refusal([&] { vocabulary_of(Unit::character, text); });
  };
  CHECK(refused("aé\xff") == "text: not UTF-8: 0xFF at offset 3; --vocab bytes takes any bytes");
  CHECK(refused("a\xe2\x82") == "text: not UTF-8: 0xE2 at offset 1; --vocab bytes takes any bytes");
  CHECK(refused("\xed\xa0\x80").starts_with("text: not UTF-8: 0xED at offset 0"));
  CHECK(refusal([] {
          vocabulary_of(Unit::character, "a").encode("a\x80", "x");
        }).starts_with("x: not UTF-8: 0x80 at offset 1"));
  // A lone continuation, overlong forms, surrogates, beyond Unicode, and characters cut short.
  const std::string forms[] = {
      "\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xED\xBF\xBF", "\xF4\x90\x80\x80",
      "\xF5", "\xC3",     "\xF0\x9F\x98"};
  for (const std::string before : {"", "abcdefgh", "é", "€b", "😀"})
    for (const std::string& form : forms)
      for (const char* after : {"", "a", "é"})
        CHECK(refused(before + form + after)
                  .ends_with(shiftgrad::text(" at offset ", before.size(),
                                             "; --vocab bytes takes any bytes")));
}

TEST_CASE("Vocabulary: a checkpoint's list is checked") {
  CHECK(Vocabulary(Unit::byte, {10, 97}, "x").encode("a\n", "x") == std::vector<int32_t>{1, 0});
  CHECK(Vocabulary(Unit::character, {10, 0x10FFFF}, "x").decode(1) == "\xf4\x8f\xbf\xbf");
  auto refused = [](Unit unit, const std::vector<int32_t>& list) {
    return refusal([&] { Vocabulary(unit, list, "x"); });
  };
  const std::string reason = "x: the vocabulary is not a list of ";
  for (const std::vector<int32_t>& list :
       {std::vector<int32_t>{97, 10}, {10, 10}, {-1, 10}, {10, 256}})
    CHECK(refused(Unit::byte, list) == reason + "bytes in rising order");
  for (const std::vector<int32_t>& list :
       {std::vector<int32_t>{97, 10}, {10, 10}, {-1, 10}, {10, 0xD800}, {10, 0x110000}})
    CHECK(refused(Unit::character, list) == reason + "code points in rising order");
}

TEST_CASE("Vocabulary: the names of units") {
  CHECK(unit_of("bytes") == Unit::byte);
  CHECK(unit_of("characters") == Unit::character);
  CHECK(refusal([] { unit_of("words"); }) == "--vocab words, expected bytes or characters");
}
