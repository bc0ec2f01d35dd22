#pragma once

#include <string>
#include <string_view>

namespace char_lm {

/// More than any line needs that is meant to be read.
constexpr size_t longest_line = 4000;

/// The text as one line that a terminal or an XML file can show: control characters, which could be
/// commands to a terminal, are written as \x1B, and so is each byte of what is not UTF-8 and of
/// what Unicode calls no character. The middle of a text of more than `longest` bytes is left out.
std::string printable(std::string_view text, size_t longest = std::string_view::npos);

}  // namespace char_lm
