#pragma once

#include <map>
#include <string>

namespace fuzz {

/// The text with whole numbers of 1 to 8 in the place of those that flags take and that cost time:
/// of more than 8 and up to 10^12, the most steps that a training may have. Fractions stay.
std::string affordable(const std::string& text);

/// Small values, as they are typed, for the flags whose defaults take long.
const std::map<std::string, std::string>& small_values();

}  // namespace fuzz
