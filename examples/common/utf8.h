#pragma once

// UTF-8 as the Unicode standard has it (table 3-7): no overlong forms, no surrogates, nothing above
// U+10FFFF.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace char_lm {

/// What stands at the start of a text.
struct Utf8 {
  /// whole: a character; cut: its first bytes, behind which the text ends; broken: neither.
  enum class Kind { whole, cut, broken } kind;
  /// Of the character, of what there is of it, or 1.
  size_t length;
  /// The code point of a whole character.
  int32_t code;
};

/// Reads the start of a text that is not empty.
Utf8 read_utf8(std::string_view text);

/// Takes away the byte order mark that may stand at the start of a text, and is no part of it.
void drop_byte_order_mark(std::string& text);

/// The bytes of a code point.
std::string to_utf8(int32_t code);

/// Makes whole characters of pieces of text: holds back the bytes of a character that is not
/// complete until it is, or until they turn out to be the start of none.
class WholeCharacters {
 public:
  /// What may be shown now.
  std::string add(std::string_view piece);
  /// What was held back, as it is.
  std::string rest();

 private:
  std::string held_;
};

}  // namespace char_lm
