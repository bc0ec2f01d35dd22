#pragma once

#include <string>
#include <string_view>

namespace common {

/// Length in bytes beyond which no line needs to be readable.
constexpr size_t longest_line = 4000;

/// Returns the text as one line that a terminal or an XML file can show. Control characters, which
/// could be commands to a terminal, are written as \x1B. So is each byte that is not UTF-8 or
/// belongs to a code point that is not a Unicode character. The middle of a text longer than
/// `longest` bytes is left out.
std::string printable(std::string_view text, size_t longest = std::string_view::npos);

}  // namespace common
