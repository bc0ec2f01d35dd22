#pragma once

#include <cmath>
#include <string_view>

#include "core/errors.h"

namespace apps {

/// Returns a result that is about to be reported. Throws unless it is finite, and names it.
inline double finite(double value, std::string_view name) {
  shiftgrad::require(std::isfinite(value), name, ": ", value, ", expected a finite number");
  return value;
}

}  // namespace apps
