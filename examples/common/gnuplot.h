#pragma once

#include <string>

namespace common {

/// Whether gnuplot is installed.
bool has_gnuplot();

/// Runs a script in gnuplot, without the user's own settings, and returns its standard output.
/// Throws when gnuplot cannot be started or fails.
std::string gnuplot(const std::string& script);

}  // namespace common
