#pragma once

// What programs do with texts in UTF-8.

#include <string>
#include <string_view>

#include "core/io/utf8.h"

namespace apps {

using shiftgrad::read_utf8;
using shiftgrad::to_utf8;
using shiftgrad::Utf8;

/// Removes a byte order mark from the start of a text, since it is no part of the text.
void drop_byte_order_mark(std::string& text);

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

}  // namespace apps
