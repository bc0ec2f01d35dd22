#pragma once

#include <string>
#include <vector>

namespace apps {

/// Returns the smallest number of edits that turn one text into the other. An edit inserts, deletes
/// or replaces a character, or swaps two neighbours; no character is edited twice (optimal string
/// alignment).
size_t edit_distance(const std::string& a, const std::string& b);

/// Returns `, did you mean NAME?` or another hint: with what a name of another program, such as
/// nanoGPT's --start, means among these names, else with the first of the nearest names. Returns an
/// empty string when all are far from what was typed.
std::string did_you_mean(const std::string& typed, const std::vector<std::string>& names);

/// Returns an empty string if `value` is one of the choices `a|b|c`, else `, expected a, b or c`
/// and the nearest.
std::string complaint(const std::string& value, const std::string& choices);

/// Throws unless `value` is one of the choices `a|b|c`. The error names the flag, the choices and
/// the nearest choice.
void check_choice(const std::string& flag, const std::string& value, const std::string& choices);

}  // namespace apps
