#pragma once

#include <cstdio>
#include <string>

#include "finite.h"

namespace common {

/// Returns the value with `decimals` decimals: fixed(1.2345, 2) is "1.23". Throws for a value that
/// is not finite.
inline std::string fixed(double value, int decimals) {
  char digits[400];
  std::snprintf(digits, sizeof digits, "%.*f", decimals, finite(value, "a result"));
  return digits;
}

}  // namespace common
