#pragma once

// UTF-8 as the Unicode standard defines it (table 3-7): no overlong forms, no surrogates, nothing
// above U+10FFFF.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shiftgrad {

/// The start of a text.
struct Utf8 {
  /// Kind of start. whole: a character; cut: the first bytes of a character that the end of the
  /// text cuts off; broken: neither.
  enum class Kind { whole, cut, broken } kind;
  /// Length in bytes of the character, or of its part if it is cut, or 1 if it is broken.
  size_t length;
  /// Code point of a whole character.
  int32_t code;
};

/// Reads the start of a non-empty text.
Utf8 read_utf8(std::string_view text);

/// Returns the bytes of a code point.
std::string to_utf8(int32_t code);

/// Whether a code point can be shown: it is neither a control character, nor one that changes the
/// direction or the lines of the text around it, nor one of the 66 code points that are no
/// characters.
bool is_visible(int32_t code);

}  // namespace shiftgrad
