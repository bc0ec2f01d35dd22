#pragma once

#include <cstdio>
#include <string>

namespace common {

/// Returns the value with `decimals` decimals: fixed(1.2345, 2) is "1.23".
inline std::string fixed(double value, int decimals) {
  char digits[400];
  std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
  return digits;
}

}  // namespace common
