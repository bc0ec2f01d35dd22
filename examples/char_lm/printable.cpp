#include "printable.h"

#include <cstdio>

#include "utf8.h"

namespace char_lm {

namespace {

/// Neither C0, DEL or C1, nor what is no UTF-8 and may be C1 in another encoding.
bool can_be_shown(const Utf8& character) {
  bool control = character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0);
  return character.kind == Utf8::Kind::whole && !control;
}

std::string escaped(std::string_view bytes) {
  std::string result;
  for (char byte : bytes) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "\\x%02X", static_cast<unsigned char>(byte));
    result += digits;
  }
  return result;
}

/// The text without its middle, cut between characters.
std::string shortened(std::string_view text, size_t longest) {
  if (text.size() <= longest) return std::string(text);
  size_t begin = longest / 2, end = text.size() - longest / 2;
  auto inside = [&](size_t place) {
    return (static_cast<unsigned char>(text[place]) & 0xC0) == 0x80;
  };
  while (begin > 0 && inside(begin)) --begin;
  while (end < text.size() && inside(end)) ++end;
  return std::string(text.substr(0, begin)) + "..." + std::string(text.substr(end));
}

}  // namespace

std::string printable(std::string_view text, size_t longest) {
  std::string whole = shortened(text, longest), result;
  for (size_t n = 0; n < whole.size();) {
    Utf8 character = read_utf8(std::string_view(whole).substr(n));
    std::string_view bytes = std::string_view(whole).substr(n, character.length);
    result += can_be_shown(character) ? std::string(bytes) : escaped(bytes);
    n += character.length;
  }
  return result;
}

}  // namespace char_lm
