#include "nn/models/vocabulary.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "core/errors.h"
#include "core/io/utf8.h"

namespace shiftgrad {

namespace {

constexpr int32_t no_token = -1, last_byte = 0xFF, last_character = 0x10FFFF;

int32_t unit_at(std::string_view text, size_t place) {
  return static_cast<unsigned char>(text[place]);
}

std::string hexadecimal(const char* format, int32_t number) {
  char digits[16];
  std::snprintf(digits, sizeof digits, format, static_cast<unsigned>(number));
  return digits;
}

/// Calls action(code, place) for each unit of the text.
template <class Action>
void for_each_code(TextUnit unit, std::string_view text, const std::string& source, Action action) {
  if (unit == TextUnit::byte) {
    for (size_t place = 0; place < text.size(); ++place) action(unit_at(text, place), place);
    return;
  }
  for (size_t place = 0; place < text.size();) {
    if (int32_t byte = unit_at(text, place); byte < 0x80) {
      action(byte, place++);
      continue;
    }
    Utf8 next = read_utf8(text.substr(place));
    if (next.kind != Utf8::Kind::whole)
      fail(source, ": not UTF-8: ", hexadecimal("0x%02X", unit_at(text, place)), " at offset ",
           place, "; a vocabulary of bytes takes any text");
    action(next.code, place);
    place += next.length;
  }
}

/// Returns how many units the text has, if it consists of them.
size_t count_codes(TextUnit unit, std::string_view text) {
  auto begins = [](char byte) { return (byte & 0xC0) != 0x80; };
  return unit == TextUnit::byte ? text.size() : std::ranges::count_if(text, begins);
}

/// A character of a text, or a byte that belongs to none.
struct Found {
  size_t start;
  Utf8 character;
};

/// Returns the character around a byte, which may be in its middle.
Found found_at(std::string_view text, size_t place) {
  size_t start = place;
  while (start > 0 && place - start < 3 && (unit_at(text, start) & 0xC0) == 0x80) --start;
  Utf8 character = read_utf8(text.substr(start));
  if (start + character.length <= place) {
    start = place;
    character = read_utf8(text.substr(start));
  }
  return {start, character};
}

/// Returns the character as a message can show it: 'x', U+00E9 'é', U+000A if it has no visible
/// shape, or byte 0x80 if it is no character.
std::string shown_character(std::string_view text, size_t place) {
  auto [start, character] = found_at(text, place);
  if (character.kind != Utf8::Kind::whole) return hexadecimal("byte 0x%02X", unit_at(text, place));

  std::string shape = shiftgrad::text("'", text.substr(start, character.length), "'");
  bool visible = is_visible(character.code);
  if (visible && character.code < 0x7F) return shape;
  std::string name = hexadecimal("U+%04X", character.code);
  return visible ? name + ' ' + shape : name;
}

}  // namespace

TextUnit text_unit_named(const std::string& vocab) {
  if (vocab == "bytes" || vocab == "all_bytes") return TextUnit::byte;
  if (vocab == "characters") return TextUnit::character;
  fail("vocab ", vocab, ", expected bytes, all_bytes or characters");
}

Vocabulary::Vocabulary(TextUnit unit, std::vector<int32_t> codes, const std::string& source)
    : unit_(unit), codes_(std::move(codes)) {
  bool bytes = unit == TextUnit::byte;
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

Vocabulary Vocabulary::of(std::string_view text, TextUnit unit) {
  Vocabulary vocabulary(unit);
  vocabulary.add(text);
  return vocabulary;
}

Vocabulary Vocabulary::all_bytes() {
  std::vector<int32_t> codes(last_byte + 1);
  std::iota(codes.begin(), codes.end(), 0);
  return {TextUnit::byte, std::move(codes), "all bytes"};
}

void Vocabulary::add(std::string_view text, const std::string& source) {
  std::vector<char> known(unit_ == TextUnit::byte ? last_byte + 1 : last_character + 1);
  for (int32_t code : codes_) known[code] = true;
  for_each_code(unit_, text, source, [&](int32_t code, size_t) { known[code] = true; });
  codes_.clear();
  for (size_t code = 0; code < known.size(); ++code)
    if (known[code]) codes_.push_back(static_cast<int32_t>(code));
  number_tokens();
}

void Vocabulary::number_tokens() {
  token_of_code_.assign(codes_.empty() ? 0 : codes_.back() + 1, no_token);
  for (int32_t token = 0; token < size(); ++token) token_of_code_[codes_[token]] = token;
}

std::string Vocabulary::unknown_characters(std::string_view text, const std::string& source,
                                           size_t first) const {
  constexpr size_t most = 20;
  std::set<int32_t> found;
  std::string list;
  for_each_code(unit_, text, source, [&](int32_t code, size_t place) {
    if (knows(code)) return;
    Utf8 character = found_at(text, place).character;
    bool whole = character.kind == Utf8::Kind::whole;
    int32_t key = whole ? character.code : last_character + 1 + unit_at(text, place);
    if (!found.insert(key).second || found.size() > most) return;
    list += (list.empty() ? "" : ", ") + shown_character(text, place);
  });
  if (found.size() == 1) return shiftgrad::text("the character ", list, ", number ", first);
  if (found.size() > most) list += shiftgrad::text(" and ", found.size() - most, " more");
  return shiftgrad::text(found.size(), " characters: ", list, "; the first is number ", first);
}

template <class Action>
void Vocabulary::each_token(std::string_view text, const std::string& source,
                            const std::string& remedy, Action action) const {
  size_t count = 0;
  for_each_code(unit_, text, source, [&](int32_t code, size_t) {
    ++count;
    if (!knows(code))
      fail(source, ": the model does not know ", unknown_characters(text, source, count), remedy);
    action(token_of_code_[code]);
  });
}

template <class Token>
std::vector<Token> Vocabulary::tokens_of(std::string_view text, const std::string& source,
                                         const std::string& remedy) const {
  std::vector<Token> tokens;
  tokens.reserve(count_codes(unit_, text));
  each_token(text, source, remedy,
             [&](int32_t token) { tokens.push_back(static_cast<Token>(token)); });
  return tokens;
}

std::vector<int32_t> Vocabulary::encode(std::string_view text, const std::string& source,
                                        const std::string& remedy) const {
  return tokens_of<int32_t>(text, source, remedy);
}

KeptText Vocabulary::encode_text(std::string text, const std::string& source,
                                 const std::string& remedy) const {
  if (size() > int64_t{1} << 16) return tokens_of<int32_t>(text, source, remedy);
  if (size() > int64_t{1} << 8) return tokens_of<uint16_t>(text, source, remedy);
  // An error shows the text, so that all of it is known before a token replaces a byte.
  each_token(text, source, remedy, [](int32_t) {});
  auto own = std::make_shared<std::string>(std::move(text));
  auto* bytes = reinterpret_cast<uint8_t*>(own->data());
  size_t count = 0;
  each_token(*own, source, remedy,
             [&](int32_t token) { bytes[count++] = static_cast<uint8_t>(token); });
  return ViewOrOwned<uint8_t>({bytes, count}, std::move(own));
}

std::string Vocabulary::decode(int32_t token) const {
  require(0 <= token && token < size(), "decode: token ", token, " of a vocabulary of ", size());
  int32_t code = codes_[token];
  return unit_ == TextUnit::byte ? std::string{static_cast<char>(code)} : to_utf8(code);
}

std::string Vocabulary::decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (int32_t token : tokens) text += decode(token);
  return text;
}

}  // namespace shiftgrad
