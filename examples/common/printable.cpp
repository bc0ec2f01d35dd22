#include "printable.h"

#include <cstdio>

#include "utf8.h"

namespace common {

namespace {

/// Whether a code point is neither a control character nor one of the 66 code points that are no
/// characters.
bool is_visible(int32_t code) {
  bool control = code < 0x20 || (0x7F <= code && code < 0xA0);
  bool none = (code & 0xFFFE) == 0xFFFE || (0xFDD0 <= code && code <= 0xFDEF);
  return !control && !none;
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

/// Returns the text without its middle, cut between characters.
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
    bool visible = character.kind == Utf8::Kind::whole && is_visible(character.code);
    result += visible ? std::string(bytes) : escaped(bytes);
    n += character.length;
  }
  return result;
}

}  // namespace common
