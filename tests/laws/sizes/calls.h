#pragma once

// Numbers that no size can be. Whatever takes a number from its caller ends in a result or in an
// Error of one line, whose text has no number that a wrap made.

#include <algorithm>
#include <climits>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/creation.h"
#include "tests/support/small_models.h"

namespace shiftgrad::test {

/// A call that takes a number.
struct Call {
  std::string name;
  std::function<void(int64_t)> call;
};

/// Makes each call with each number, in a process of its own with little memory and some seconds of
/// CPU time, and checks how it ends.
void check_ends(const std::vector<Call>& calls);

/// The nearest int.
inline int as_int(int64_t n) { return static_cast<int>(std::clamp<int64_t>(n, INT_MIN, INT_MAX)); }

inline const std::vector<int32_t> text_of_200 = random_text(200, 7);

inline Random random_numbers() { return {.seed = 1}; }

inline Tensor some(const Dims& shape) {
  Random random{.seed = 2};
  return randn(shape, random);
}

}  // namespace shiftgrad::test
