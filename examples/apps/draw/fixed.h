#pragma once

#include <iomanip>
#include <string>

#include "finite.h"

namespace apps {

/// Returns the value with `decimals` decimals: fixed(1.2345, 2) is "1.23". Throws for a value that
/// is not finite.
inline std::string fixed(double value, int decimals) {
  return shiftgrad::text(std::fixed, std::setprecision(decimals), finite(value, "a result"));
}

/// Returns the value with at most `digits` digits, as %g prints it: significant(1234.5, 3) is
/// "1.23e+03". Zero has no sign.
inline std::string significant(double value, int digits) {
  return shiftgrad::text(std::setprecision(digits), value + 0.0);
}

}  // namespace apps
