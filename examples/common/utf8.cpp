#include "utf8.h"

#include <algorithm>
#include <utility>

namespace common {

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

/// Returns how many bytes at the end of the text may be the start of an incomplete character.
size_t cut_at_end(std::string_view text) {
  for (size_t length = std::min<size_t>(3, text.size()); length > 0; --length) {
    Utf8 end = read_utf8(text.substr(text.size() - length));
    if (end.kind == Utf8::Kind::cut && end.length == length) return length;
  }
  return 0;
}

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

void drop_byte_order_mark(std::string& text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
}

std::string to_utf8(int32_t code) {
  auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  auto lead = [&](int mark, int shift) { return static_cast<char>(mark | code >> shift); };
  if (code < 0x80) return {lead(0, 0)};
  if (code < 0x800) return {lead(0xC0, 6), tail(0)};
  if (code < 0x10000) return {lead(0xE0, 12), tail(6), tail(0)};
  return {lead(0xF0, 18), tail(12), tail(6), tail(0)};
}

std::string WholeCharacters::add(std::string_view piece) {
  held_.append(piece);
  std::string whole = held_.substr(0, held_.size() - cut_at_end(held_));
  held_.erase(0, whole.size());
  return whole;
}

std::string WholeCharacters::rest() { return std::exchange(held_, {}); }

}  // namespace common
