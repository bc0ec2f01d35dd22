#pragma once

#include <string>
#include <vector>

namespace fuzz {

/// Returns the words of `a|b|c`.
std::vector<std::string> words_of(const std::string& choices);

/// Returns every word that a string of a config or a flag may be somewhere.
const std::vector<std::string>& known_words();

}  // namespace fuzz
