#pragma once

// UTF-8 as the Unicode standard defines it (table 3-7): no overlong forms, no surrogates, nothing
// above U+10FFFF.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace common {

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

/// Removes a byte order mark from the start of a text, since it is no part of the text.
void drop_byte_order_mark(std::string& text);

/// Returns the bytes of a code point.
std::string to_utf8(int32_t code);

/// Makes whole characters from pieces of text. It holds back the bytes of an incomplete character
/// until the rest arrives, or until they turn out not to start a character.
class WholeCharacters {
 public:
  /// Adds a piece, and returns what may be shown now.
  std::string add(std::string_view piece);
  /// Returns what was held back, as it is.
  std::string rest();

 private:
  std::string held_;
};

}  // namespace common
