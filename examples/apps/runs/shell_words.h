#pragma once

// Commands to be typed: words as a POSIX shell reads them.

#include <string>
#include <string_view>
#include <vector>

namespace apps {

/// Returns the word, in quotes where the shell would read it otherwise. What a terminal does not
/// show is written as printf's escapes: "$(printf 'a\033b')".
std::string shell_word(std::string_view word);

/// Returns the words as one command.
std::string shell_command(const std::vector<std::string>& words);

/// Returns the path as an argument that no program takes for a flag: ./-x for -x.
std::string as_argument(const std::string& path);

}  // namespace apps
