#pragma once

// What loops over arrays run on, and are held against: values of more digits than Scalar has.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/random.h"
#include "core/scalar.h"

namespace shiftgrad::test {

/// The narrowest such type: some processors have no long double and compute it in software.
using Exact = std::conditional_t<std::is_same_v<Scalar, float>, double, long double>;

/// Repeatable numbers of N(0, 9).
inline std::vector<Scalar> random_values(int64_t n, uint64_t seed) {
  Random random{seed};
  std::vector<Scalar> values(static_cast<size_t>(n));
  for (Scalar& value : values) value = static_cast<Scalar>(3 * random.normal());
  return values;
}

/// Both signs of every order of magnitude, close and wide.
inline std::vector<Scalar> wide_range() {
  std::vector<Scalar> values;
  int largest = std::numeric_limits<Scalar>::max_exponent10;
  for (int n = -1000; n <= 1000; ++n) {
    Exact power = std::pow(Exact(10), Exact(n) / 1000 * largest);
    for (Exact value : {Exact(n) / 40, Exact(n) / Exact(1.4L), power, -power})
      values.push_back(static_cast<Scalar>(value));
  }
  return values;
}

/// Whether `got` is `expected` to within `tolerance`, or both are infinite or NaN.
inline bool is_close(Scalar got, Exact expected, Exact tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::abs(expected) > std::numeric_limits<Scalar>::max())
    return got == static_cast<Scalar>(expected);
  return std::abs(got - expected) <= tolerance;
}

/// Fails unless a function of x is as expected.
inline void check_close(Exact x, Scalar got, Exact expected, Exact tolerance) {
  // Near the smallest numbers an intermediate result is rounded to a multiple of denorm_min.
  tolerance += (10 + std::abs(x)) * std::numeric_limits<Scalar>::denorm_min();
  if (is_close(got, expected, tolerance)) return;
  FAIL("at " << x << ": " << got << ", not " << expected << " to within " << tolerance);
}

}  // namespace shiftgrad::test
