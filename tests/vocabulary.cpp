#include "examples/char_lm/vocabulary.h"

#include "refusal.h"

using char_lm::Vocabulary;

TEST_CASE("Vocabulary: the distinct bytes of a text in rising order") {
  Vocabulary vocabulary("banana\n\xff");
  CHECK(vocabulary.bytes() == std::vector<int32_t>{'\n', 'a', 'b', 'n', 0xff});
  CHECK(vocabulary.size() == 5);
}

TEST_CASE("Vocabulary: decode undoes encode, for every byte") {
  std::string text;
  for (int byte = 255; byte >= 0; --byte) text += static_cast<char>(byte);
  Vocabulary vocabulary(text);
  std::vector<int32_t> tokens = vocabulary.encode(text, "x");
  CHECK(tokens.front() == 255);
  CHECK(tokens.back() == 0);
  std::string decoded;
  for (int32_t token : tokens) decoded += vocabulary.decode(token);
  CHECK(decoded == text);
  CHECK(vocabulary.encode("", "x").empty());
}

TEST_CASE("Vocabulary: an unknown character is named") {
  Vocabulary vocabulary("ab\xc3");
  auto refused = [&](std::string_view text) {
    return refusal([&] { vocabulary.encode(text, "--prompt"); });
  };
  const std::string unknown = "--prompt: the model does not know the character ";
  CHECK(refused("abc") == unknown + "'c', number 3");
  CHECK(refused("\n") == unknown + "byte 0x0A, number 1");
  CHECK(refused(std::string_view("a\0", 2)) == unknown + "byte 0x00, number 2");
  CHECK(refused("a€") == unknown + "'€', number 2");
  // The first byte of é is known, the second is not.
  CHECK(refused("aé") == unknown + "'é', number 3");
  CHECK(refused("\xe2\x82") == unknown + "byte 0xE2, number 1");
  CHECK(refused("a\x80\x80\x80") == unknown + "byte 0x80, number 2");
}

TEST_CASE("Vocabulary: a checkpoint's list is checked") {
  CHECK(Vocabulary({10, 97}, "x").encode("a\n", "x") == std::vector<int32_t>{1, 0});
  const std::string reason = "x: the vocabulary is not a list of bytes in rising order";
  for (const std::vector<int32_t>& list :
       {std::vector<int32_t>{97, 10}, {10, 10}, {-1, 10}, {10, 256}})
    CHECK(refusal([&] { Vocabulary(list, "x"); }) == reason);
}
