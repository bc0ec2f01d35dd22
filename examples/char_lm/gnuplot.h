#pragma once

#include <string>

namespace char_lm {

/// Whether it is installed.
bool has_gnuplot();

/// Lets gnuplot run a script. False where it is not installed; throws when it fails.
bool gnuplot(const std::string& script);

}  // namespace char_lm
