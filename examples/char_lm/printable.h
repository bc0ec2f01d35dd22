#pragma once

#include <string>
#include <string_view>

namespace char_lm {

/// More than any line needs that is meant to be read.
constexpr size_t longest_line = 4000;

/// The text as a terminal may show it: control characters, which could be commands to it, are
/// written as \x1B, and of a text of more than `longest` bytes the middle is left out.
std::string printable(std::string_view text, size_t longest);

}  // namespace char_lm
