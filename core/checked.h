#pragma once

#include <cmath>
#include <cstdint>

#include "core/errors.h"

namespace shiftgrad {

/// Checks the fields of an owner's config: throws "trainer: eval_interval 0, expected at least 1".
/// Infinity is refused as well.
struct AtLeast {
  const char* owner;

  template <class Value>
  void operator()(int64_t least, const char* field, Value value) const {
    require(std::isfinite(static_cast<double>(value)) && value >= least, owner, ": ", field, " ",
            value, ", expected at least ", least);
  }
};

/// Returns the config once it is known to be good.
template <class Config>
const Config& checked(const Config& config) {
  config.check();
  return config;
}

}  // namespace shiftgrad
