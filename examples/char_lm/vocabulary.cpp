#include "vocabulary.h"

#include <algorithm>
#include <cstdio>

#include "core/errors.h"
#include "examples/common/printable.h"
#include "examples/common/utf8.h"

namespace char_lm {

using common::read_utf8;
using common::to_utf8;
using common::Utf8;
using shiftgrad::fail;
using shiftgrad::require;

namespace {

constexpr int32_t unknown = -1, last_byte = 0xFF, last_character = 0x10FFFF;

int32_t byte_at(std::string_view text, size_t place) {
  return static_cast<unsigned char>(text[place]);
}

std::string hexadecimal(const char* format, int32_t number) {
  char digits[16];
  std::snprintf(digits, sizeof digits, format, static_cast<unsigned>(number));
  return digits;
}

/// Calls action(code, place) for each unit of the text.
template <class Action>
void for_each_code(Unit unit, std::string_view text, const std::string& source, Action action) {
  if (unit == Unit::byte) {
    for (size_t place = 0; place < text.size(); ++place) action(byte_at(text, place), place);
    return;
  }
  for (size_t place = 0; place < text.size();) {
    if (int32_t byte = byte_at(text, place); byte < 0x80) {
      action(byte, place++);
      continue;
    }
    Utf8 next = read_utf8(text.substr(place));
    if (next.kind != Utf8::Kind::whole)
      fail(source, ": not UTF-8: ", hexadecimal("0x%02X", byte_at(text, place)), " at offset ",
           place, "; --vocab bytes takes any bytes");
    action(next.code, place);
    place += next.length;
  }
}

/// Returns how many units the text has, if it consists of them.
size_t count_codes(Unit unit, std::string_view text) {
  auto begins = [](char byte) { return (byte & 0xC0) != 0x80; };
  return unit == Unit::byte ? text.size() : std::ranges::count_if(text, begins);
}

/// Returns the character as a message can show it: 'x', U+00E9 'é', U+000A if it has no visible
/// shape, or byte 0x80 if it is no character.
std::string shown_character(std::string_view text, size_t place) {
  // The unknown byte may be in the middle of its character.
  size_t start = place;
  while (start > 0 && place - start < 3 && (byte_at(text, start) & 0xC0) == 0x80) --start;
  Utf8 character = read_utf8(text.substr(start));
  if (start + character.length <= place) {
    start = place;
    character = read_utf8(text.substr(start));
  }
  if (character.kind != Utf8::Kind::whole) return hexadecimal("byte 0x%02X", byte_at(text, place));

  std::string shape = shiftgrad::text("'", text.substr(start, character.length), "'");
  bool visible = common::is_visible(character.code);
  if (visible && character.code < 0x7F) return shape;
  std::string name = hexadecimal("U+%04X", character.code);
  return visible ? name + ' ' + shape : name;
}

}  // namespace

Unit unit_of(const std::string& vocab) {
  if (vocab == "bytes") return Unit::byte;
  if (vocab == "characters") return Unit::character;
  fail("--vocab ", vocab, ", expected bytes or characters");
}

Vocabulary::Vocabulary(Unit unit, std::vector<int32_t> codes, const std::string& source)
    : unit_(unit), codes_(std::move(codes)) {
  bool bytes = unit == Unit::byte;
  auto is_code = [&](int32_t code) {
    bool surrogate = 0xD800 <= code && code <= 0xDFFF;
    return 0 <= code && (bytes ? code <= last_byte : code <= last_character && !surrogate);
  };
  bool rises =
      std::adjacent_find(codes_.begin(), codes_.end(), std::greater_equal()) == codes_.end();
  require(rises && std::all_of(codes_.begin(), codes_.end(), is_code), source,
          ": the vocabulary is not a list of ", bytes ? "bytes" : "code points",
          " in rising order");
  number_tokens();
}

void Vocabulary::add(std::string_view text, const std::string& source) {
  std::vector<char> known(unit_ == Unit::byte ? last_byte + 1 : last_character + 1);
  for (int32_t code : codes_) known[code] = true;
  for_each_code(unit_, text, source, [&](int32_t code, size_t) { known[code] = true; });
  codes_.clear();
  for (size_t code = 0; code < known.size(); ++code)
    if (known[code]) codes_.push_back(static_cast<int32_t>(code));
  number_tokens();
}

void Vocabulary::number_tokens() {
  token_of_code_.assign(codes_.empty() ? 0 : codes_.back() + 1, unknown);
  for (int32_t token = 0; token < size(); ++token) token_of_code_[codes_[token]] = token;
}

std::vector<int32_t> Vocabulary::encode(std::string_view text, const std::string& source) const {
  std::vector<int32_t> tokens;
  tokens.reserve(count_codes(unit_, text));
  for_each_code(unit_, text, source, [&](int32_t code, size_t place) {
    bool known = code < std::ssize(token_of_code_) && token_of_code_[code] != unknown;
    if (!known)
      fail(source, ": the model does not know the character ", shown_character(text, place),
           ", number ", tokens.size() + 1);
    tokens.push_back(token_of_code_[code]);
  });
  return tokens;
}

std::string Vocabulary::decode(int32_t token) const {
  int32_t code = codes_[token];
  return unit_ == Unit::byte ? std::string{static_cast<char>(code)} : to_utf8(code);
}

}  // namespace char_lm
