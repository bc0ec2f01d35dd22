#pragma once

#include <limits>

#include "core/scalar.h"

namespace shiftgrad::test {

inline constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
inline constexpr Scalar not_a_number = std::numeric_limits<Scalar>::quiet_NaN();

}  // namespace shiftgrad::test
