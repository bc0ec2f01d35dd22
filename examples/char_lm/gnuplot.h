#pragma once

#include <string>

namespace char_lm {

/// Lets gnuplot run a script. False where it is not installed; throws when it fails.
bool gnuplot(const std::string& script);

}  // namespace char_lm
