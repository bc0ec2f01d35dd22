#include "nn/models/vocabulary.h"

#include <numeric>
#include <utility>

#include "core/errors.h"
#include "core/io/utf8.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

Vocabulary vocabulary_of(TextUnit unit, std::string_view text) {
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
  Vocabulary bytes = vocabulary_of(TextUnit::byte, "banana\n\xff");
  CHECK(bytes.codes() == std::vector<int32_t>{'\n', 'a', 'b', 'n', 0xff});
  CHECK(bytes.size() == 5);
  Vocabulary characters = vocabulary_of(TextUnit::character, "ananás €\n");
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
  Vocabulary bytes = vocabulary_of(TextUnit::byte, text);
  std::vector<int32_t> tokens = bytes.encode(text, "x");
  CHECK(tokens.front() == 255);
  CHECK(tokens.back() == 0);
  CHECK(decoded(bytes, tokens) == text);
  CHECK(bytes.encode("", "x").empty());

  const std::string mixed("a\0é€😀\n", 12);
  Vocabulary characters = vocabulary_of(TextUnit::character, mixed);
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
    text += to_utf8(codes[token]);
    falling.push_back(token);
  }
  Vocabulary characters = vocabulary_of(TextUnit::character, text);
  CHECK((characters.codes() == codes));
  CHECK((characters.encode(text, "x") == falling));
}

TEST_CASE("Vocabulary: an unknown byte is named by its character") {
  Vocabulary vocabulary = vocabulary_of(TextUnit::byte, "ab\xc3");
  auto refused = refusals(vocabulary);
  CHECK(refused("abc") == unknown + "'c', number 3");
  CHECK(refused("\n") == unknown + "U+000A, number 1");
  CHECK(refused(std::string_view("a\0", 2)) == unknown + "U+0000, number 2");
  CHECK(refused("a€") == unknown + "U+20AC '€', number 2");
  // The first byte of é is known, the second is not.
  CHECK(refused("aé") == unknown + "U+00E9 'é', number 3");
  CHECK(refused("\xc2\x80") == unknown + "U+0080, number 1");
  CHECK(refused("\xe2") == unknown + "byte 0xE2, number 1");
  CHECK(refused("a\x80\x80\x80") == unknown + "byte 0x80, number 2");
}

TEST_CASE("Vocabulary: all unknown characters are listed, each once, at most 20 of them") {
  const std::string several = "--prompt: the model does not know ";
  Vocabulary bytes = vocabulary_of(TextUnit::byte, "ab");
  auto refused = refusals(bytes);
  CHECK(refused("axbyxé€") ==
        several + "4 characters: 'x', 'y', U+00E9 'é', U+20AC '€'; the first is number 2");
  // Each byte of the last one is in another one.
  CHECK(refused("é¨©") ==
        several + "3 characters: U+00E9 'é', U+00A8 '¨', U+00A9 '©'; the first is number 1");
  CHECK(refused("\x80\n\x81") ==
        several + "3 characters: byte 0x80, U+000A, byte 0x81; the first is number 1");
  std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string reason = refused(alphabet + alphabet);
  CHECK(reason.starts_with(several + "26 characters: 'A', 'B', "));
  CHECK(reason.ends_with("'S', 'T' and 6 more; the first is number 1"));

  Vocabulary characters = vocabulary_of(TextUnit::character, "ab");
  CHECK(refusal([&] { characters.encode("aéb😀", "text", "; do this"); }) ==
        "text: the model does not know 2 characters: U+00E9 'é', U+1F600 '😀'; the first is number "
        "2; do this");
}

TEST_CASE("Vocabulary: an unknown character is named, and counted in characters") {
  Vocabulary vocabulary = vocabulary_of(TextUnit::character, "aé");
  auto refused = refusals(vocabulary);
  CHECK(refused("éab") == unknown + "'b', number 3");
  CHECK(refused("éaè") == unknown + "U+00E8 'è', number 3");
  CHECK(refused("é😀") == unknown + "U+1F600 '😀', number 2");
}

TEST_CASE("Vocabulary: what is not UTF-8 is refused with its place") {
  auto refused = [](std::string_view text) {
    return refusal([&] { vocabulary_of(TextUnit::character, text); });
  };
  CHECK(refused("aé\xff") ==
        "text: not UTF-8: 0xFF at offset 3; a vocabulary of bytes takes any text");
  CHECK(refused("a\xe2\x82") ==
        "text: not UTF-8: 0xE2 at offset 1; a vocabulary of bytes takes any text");
  CHECK(refused("\xed\xa0\x80").starts_with("text: not UTF-8: 0xED at offset 0"));
  CHECK(refusal([] {
          vocabulary_of(TextUnit::character, "a").encode("a\x80", "x");
        }).starts_with("x: not UTF-8: 0x80 at offset 1"));
  CHECK(refusal([] {
          vocabulary_of(TextUnit::character, "a").encode("ab\x80", "x");
        }).starts_with("x: not UTF-8: 0x80 at offset 2"));
  // A lone continuation, overlong forms, surrogates, beyond Unicode, and characters cut short.
  const std::string forms[] = {
      "\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xED\xBF\xBF", "\xF4\x90\x80\x80",
      "\xF5", "\xC3",     "\xF0\x9F\x98"};
  for (const std::string before : {"", "abcdefgh", "é", "€b", "😀"})
    for (const std::string& form : forms)
      for (const char* after : {"", "a", "é"})
        CHECK(refused(before + form + after)
                  .ends_with(shiftgrad::text(" at offset ", before.size(),
                                             "; a vocabulary of bytes takes any text")));
}

TEST_CASE("Vocabulary: a checkpoint's list is checked") {
  CHECK(Vocabulary(TextUnit::byte, {10, 97}, "x").encode("a\n", "x") == std::vector<int32_t>{1, 0});
  CHECK(Vocabulary(TextUnit::character, {10, 0x10FFFF}, "x").decode(1) == "\xf4\x8f\xbf\xbf");
  auto refused = [](TextUnit unit, const std::vector<int32_t>& list) {
    return refusal([&] { Vocabulary(unit, list, "x"); });
  };
  const std::string reason = "x: the vocabulary is not a list of ";
  for (const std::vector<int32_t>& list :
       {std::vector<int32_t>{97, 10}, {10, 10}, {-1, 10}, {10, 256}})
    CHECK(refused(TextUnit::byte, list) == reason + "bytes in rising order");
  for (const std::vector<int32_t>& list :
       {std::vector<int32_t>{97, 10}, {10, 10}, {-1, 10}, {10, 0xD800}, {10, 0x110000}})
    CHECK(refused(TextUnit::character, list) == reason + "code points in rising order");
}

TEST_CASE("Vocabulary: from a text to tokens and back in one line each") {
  Vocabulary vocabulary = Vocabulary::of("ananás €");
  CHECK(vocabulary.unit() == TextUnit::character);
  CHECK(vocabulary.codes() == std::vector<int32_t>{' ', 'a', 'n', 's', 0xE1, 0x20AC});
  CHECK(vocabulary.decode(vocabulary.encode("€ nás")) == "€ nás");
  CHECK(Vocabulary::of("\xff\n", TextUnit::byte).codes() == std::vector<int32_t>{'\n', 0xff});
  CHECK(refusal([] { Vocabulary::of("\xff"); }) ==
        "vocabulary: not UTF-8: 0xFF at offset 0; a vocabulary of bytes takes any text");
  CHECK(refusal([&] { vocabulary.encode("b"); }) ==
        "encode: the model does not know the character 'b', number 1");
}

TEST_CASE("Vocabulary: all bytes are the tokens of every text") {
  Vocabulary all = Vocabulary::all_bytes();
  CHECK(all.unit() == TextUnit::byte);
  CHECK(all.size() == 256);
  CHECK(all.encode("é\n") == std::vector<int32_t>{0xC3, 0xA9, '\n'});
  CHECK(all.decode(all.encode("\xff€")) == "\xff€");
}

TEST_CASE("Vocabulary: a token that there is not is refused") {
  Vocabulary vocabulary = Vocabulary::of("ab");
  CHECK(refusal([&] { vocabulary.decode(2); }) == "decode: token 2 of a vocabulary of 2");
  CHECK(refusal([&] { vocabulary.decode(-1); }) == "decode: token -1 of a vocabulary of 2");
}

TEST_CASE("Vocabulary: the tokens of a text take as few bytes as they need") {
  for (int64_t size : {256, 257, 65'536, 65'537}) {
    std::vector<int32_t> codes(static_cast<size_t>(size));
    std::iota(codes.begin(), codes.end(), 0x10000);
    Vocabulary vocabulary(TextUnit::character, codes, "codes");
    std::string text = vocabulary.decode(0) + vocabulary.decode(static_cast<int32_t>(size - 1));
    KeptText kept = vocabulary.encode_text(text);
    CHECK(kept.tokens() == vocabulary.encode(text));
    CHECK(kept.width() == (size <= 256 ? 1 : size <= 65'536 ? 2 : 4));
  }
  CHECK(refusal([] { Vocabulary::of("ab").encode_text("abc", "text"); }) ==
        "text: the model does not know the character 'c', number 3");
}

TEST_CASE("Vocabulary: tokens of one byte take the place of longer characters") {
  std::string text;
  for (int n = 0; n < 40; ++n) text += n % 3 == 0 ? "a" : n % 3 == 1 ? "\u00e9" : "\U0001F600";
  const Vocabulary vocabulary = Vocabulary::of(text);
  const std::vector<int32_t> tokens = vocabulary.encode(text);
  KeptText kept = vocabulary.encode_text(std::move(text));
  CHECK(kept.tokens() == tokens);
  CHECK(kept.part(1, 40).tokens() == std::vector(tokens.begin() + 1, tokens.end()));
}
