#include "vocabulary.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/errors.h"

namespace char_lm {

using shiftgrad::fail;
using shiftgrad::require;

namespace {

constexpr int32_t unknown = -1;

int32_t byte_at(std::string_view text, size_t place) {
  return static_cast<unsigned char>(text[place]);
}

/// How many bytes the UTF-8 character at `place` has, or 1 where there is none.
size_t character_length(std::string_view text, size_t place) {
  int32_t lead = byte_at(text, place);
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (place + length > text.size()) return 1;
  for (size_t n = 1; n < length; ++n)
    if ((byte_at(text, place + n) & 0xC0) != 0x80) return 1;
  return length;
}

/// The character as a message can show it: 'x', or byte 0x0A where it has no shape of its own.
std::string shown_character(std::string_view text, size_t place) {
  // The unknown byte may stand in the middle of its character.
  size_t start = place;
  while (start > 0 && place - start < 3 && (byte_at(text, start) & 0xC0) == 0x80) --start;
  if (start + character_length(text, start) <= place) start = place;

  size_t length = character_length(text, start);
  int32_t byte = byte_at(text, start);
  if (length > 1 || (byte >= 0x20 && byte < 0x7F))
    return shiftgrad::text("'", text.substr(start, length), "'");
  char name[16];
  std::snprintf(name, sizeof name, "byte 0x%02X", static_cast<unsigned>(byte));
  return name;
}

}  // namespace

Vocabulary::Vocabulary(std::string_view text) {
  std::set<unsigned char> distinct(text.begin(), text.end());
  bytes_.assign(distinct.begin(), distinct.end());
  number_tokens();
}

Vocabulary::Vocabulary(std::vector<int32_t> bytes, const std::string& source)
    : bytes_(std::move(bytes)) {
  auto is_byte = [](int32_t value) { return 0 <= value && value < 256; };
  bool rises =
      std::adjacent_find(bytes_.begin(), bytes_.end(), std::greater_equal()) == bytes_.end();
  require(rises && std::all_of(bytes_.begin(), bytes_.end(), is_byte), source,
          ": the vocabulary is not a list of bytes in rising order");
  number_tokens();
}

void Vocabulary::number_tokens() {
  token_of_byte_.fill(unknown);
  for (int32_t token = 0; token < size(); ++token) token_of_byte_[bytes_[token]] = token;
}

std::vector<int32_t> Vocabulary::encode(std::string_view text, const std::string& source) const {
  std::vector<int32_t> tokens(text.size());
  for (size_t n = 0; n < text.size(); ++n) {
    tokens[n] = token_of_byte_[byte_at(text, n)];
    if (tokens[n] == unknown)
      fail(source, ": the model does not know the character ", shown_character(text, n),
           ", number ", n + 1);
  }
  return tokens;
}

}  // namespace char_lm
