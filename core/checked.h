#pragma once

#include <cmath>
#include <cstdint>

#include "core/errors.h"
#include "core/range.h"

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

/// Checks upper limits in the same way: throws "aft: window 2000000000, expected at most
/// 1073741824".
struct AtMost {
  const char* owner;

  template <class Value>
  void operator()(int64_t most, const char* field, Value value) const {
    require(value <= most, owner, ": ", field, " ", value, ", expected at most ", most);
  }
};

/// Checks the fields of an owner's config by their ranges, as its `fields` gives them: throws
/// "trainer: eval_interval 0, expected at least 1". Fields without a range pass.
struct InRange {
  const char* owner;

  template <class Value>
  void operator()(const char* field, const Value& value, const auto&, const char*,
                  const Range& range) {
    std::string wrong = complaint(static_cast<double>(value), range);
    require(wrong.empty(), owner, ": ", field, " ", value, wrong);
  }
  template <class Value>
  void operator()(const char*, const Value&, const auto&, const char*) {}
};

/// Returns the config once it is known to be good.
template <class Config>
const Config& checked(const Config& config) {
  config.check();
  return config;
}

}  // namespace shiftgrad
