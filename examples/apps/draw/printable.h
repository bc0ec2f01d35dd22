#pragma once

#include <string>
#include <string_view>

#include "core/io/utf8.h"

namespace apps {

/// Length in bytes beyond which no line needs to be readable.
constexpr size_t longest_line = 4000;

using shiftgrad::is_visible;

/// Returns the text as one line that a terminal, a page or an XML file can show. What is not
/// visible could be a command to a terminal, or make a text look like another one. Its bytes are
/// written as \x1B, and so is each byte that is not UTF-8. The middle of a text longer than
/// `longest` bytes is left out.
std::string printable(std::string_view text, size_t longest = std::string_view::npos);

/// Returns the text in the same way, but keeps its lines and tabs. A line may end with CR LF.
std::string printable_lines(std::string_view text);

}  // namespace apps
