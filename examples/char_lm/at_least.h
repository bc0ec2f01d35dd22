#pragma once

#include <cstdint>

#include "core/errors.h"

namespace char_lm {

/// Throws unless the value of a flag is so much or more; names the flag.
inline void check_at_least(const char* flag, int64_t value, int64_t least) {
  shiftgrad::require(value >= least, flag, ' ', value, ", expected at least ", least);
}

}  // namespace char_lm
