#pragma once

#include <string>
#include <vector>

namespace char_lm {

/// The least number of characters to insert, delete, replace or exchange with their neighbour that
/// makes one text the other, none of them touched twice (optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b);

/// `, did you mean NAME?` with the first of the nearest names, or nothing when all are far from
/// what was typed.
std::string did_you_mean(const std::string& typed, const std::vector<std::string>& names);

/// Empty where `value` is one of the choices `a|b|c`; else `, expected a, b or c` and the nearest.
std::string complaint(const std::string& value, const std::string& choices);

/// Throws unless `value` is one of the choices `a|b|c`; names the flag, the choices and the
/// nearest.
void check_choice(const std::string& flag, const std::string& value, const std::string& choices);

}  // namespace char_lm
