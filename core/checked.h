#pragma once

#include <cmath>
#include <cstdint>
#include <string>

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

/// Checks numbers of an owner by their ranges: throws "beam_search: width 0, expected at least 1".
struct Within {
  const char* owner;

  template <class Value>
  void operator()(const Range& range, const char* field, Value value) const {
    std::string wrong = range_error(static_cast<double>(value), range);
    require(wrong.empty(), owner, ": ", field, " ", value, wrong);
  }
};

/// a + b and a · b for counts, which are at least 0; the greatest int64_t where that is more.
constexpr int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
constexpr int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/// Returns the config once it is known to be good.
template <class Config>
const Config& checked(const Config& config) {
  config.check();
  return config;
}

}  // namespace shiftgrad
