#include "printable.h"

#include <cstdio>

#include "utf8.h"

namespace apps {

namespace {

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

std::string shown(std::string_view text, std::string_view kept) {
  std::string result;
  for (size_t n = 0; n < text.size();) {
    Utf8 character = read_utf8(text.substr(n));
    std::string_view bytes = text.substr(n, character.length);
    bool whole = character.kind == Utf8::Kind::whole;
    bool keeps = whole && (is_visible(character.code) || kept.find(bytes) != kept.npos);
    result += keeps ? std::string(bytes) : escaped(bytes);
    n += character.length;
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text, size_t longest) {
  return shown(shortened(text, longest), "");
}

std::string printable_lines(std::string_view text) {
  std::string lines;
  for (size_t n = 0; n < text.size(); ++n)
    if (text.substr(n, 2) != "\r\n") lines += text[n];
  return shown(lines, "\n\t");
}

}  // namespace apps
