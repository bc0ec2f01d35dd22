#include "core/io/utf8.h"

#include <algorithm>

namespace shiftgrad {

namespace {

int32_t byte_at(std::string_view text, size_t place) {
  return static_cast<unsigned char>(text[place]);
}

/// Returns how many bytes a character has that begins with this byte, or 0 if none does.
size_t length_after(int32_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
}

/// Whether `byte` may be number `place` of a character that begins with `lead`.
bool continues(int32_t lead, size_t place, int32_t byte) {
  int32_t least = 0x80, most = 0xBF;
  if (place == 1) {
    if (lead == 0xE0) least = 0xA0;
    if (lead == 0xED) most = 0x9F;
    if (lead == 0xF0) least = 0x90;
    if (lead == 0xF4) most = 0x8F;
  }
  return least <= byte && byte <= most;
}

struct CodePoints {
  int32_t first, last;
};

/// Controls, and what acts on the text around it without a shape of its own: marks, embeddings,
/// overrides and isolates of direction, separators of lines, annotations, tags. The joiners U+200C
/// and U+200D are parts of words and of emoji.
constexpr CodePoints invisible[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200E, 0x200F}, {0x2028, 0x202E},
    {0x2060, 0x206F}, {0xFDD0, 0xFDEF}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

}  // namespace

Utf8 read_utf8(std::string_view text) {
  int32_t lead = byte_at(text, 0);
  size_t length = length_after(lead);
  if (length == 0) return {Utf8::Kind::broken, 1, 0};
  // A lead byte has one bit less for each byte of its character.
  int32_t code = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t n = 1; n < length; ++n) {
    if (n == text.size()) return {Utf8::Kind::cut, n, 0};
    if (!continues(lead, n, byte_at(text, n))) return {Utf8::Kind::broken, 1, 0};
    code = code << 6 | (byte_at(text, n) & 0x3F);
  }
  return {Utf8::Kind::whole, length, code};
}

std::string to_utf8(int32_t code) {
  auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  auto lead = [&](int mark, int shift) { return static_cast<char>(mark | code >> shift); };
  if (code < 0x80) return {lead(0, 0)};
  if (code < 0x800) return {lead(0xC0, 6), tail(0)};
  if (code < 0x10000) return {lead(0xE0, 12), tail(6), tail(0)};
  return {lead(0xF0, 18), tail(12), tail(6), tail(0)};
}

bool is_visible(int32_t code) {
  auto has = [&](CodePoints range) { return range.first <= code && code <= range.last; };
  return (code & 0xFFFE) != 0xFFFE && std::ranges::none_of(invisible, has);
}

}  // namespace shiftgrad
