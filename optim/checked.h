#pragma once

#include <cstdint>

#include "core/errors.h"

namespace shiftgrad {

/// Checks the fields of an owner's config: throws "trainer: eval_interval 0, expected at least 1".
struct AtLeast {
  const char* owner;

  void operator()(int64_t least, const char* field, int64_t value) const {
    require(value >= least, owner, ": ", field, " ", value, ", expected at least ", least);
  }
};

/// The config, once it is known to be good.
template <class Config>
const Config& checked(const Config& config) {
  config.check();
  return config;
}

}  // namespace shiftgrad
