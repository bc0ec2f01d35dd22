#pragma once

#include <string>

namespace char_lm {

/// Whether it is installed.
bool has_gnuplot();

/// What gnuplot writes to its standard output when it runs a script, without the settings of the
/// user's own. Throws when it cannot be started or fails.
std::string gnuplot(const std::string& script);

}  // namespace char_lm
