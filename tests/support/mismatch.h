#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/errors.h"
#include "tests/support/numbers.h"

namespace shiftgrad::test {

/// Whether `got` is as close as the bound says; a NaN only to a NaN, an infinity only to itself.
inline bool is_close(double got, const Bounded& expected) {
  if (std::isnan(expected.value)) return std::isnan(got);
  if (std::isinf(expected.value)) return got == expected.value;
  return std::abs(got - expected.value) <= expected.tolerance();
}

/// The first place where the tensor is farther from the oracle than the oracle's bound, in words;
/// empty when there is none. `CHECK(mismatch(y, expected) == "")`
inline std::string mismatch(const Tensor& got, const Numbers& expected) {
  if (got.shape() != expected.shape)
    return text("shape ", got.shape(), ", expected ", expected.shape);
  std::string found;
  Numbers values = numbers(got);
  for_each_index(expected.shape, [&](const Dims& index) {
    const Bounded& wanted = expected.at(index);
    double value = values.at(index).value;
    if (found.empty() && !is_close(value, wanted))
      found = text("at ", index, ": ", value, ", expected ", wanted.value, " off by at most ",
                   wanted.tolerance(), " but is by ", std::abs(value - wanted.value));
  });
  return found;
}

/// Whether both hold the same bits, NaN included.
inline bool same_bits(const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Scalar)) == 0);
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && same_bits(a.values(), b.values());
}

/// A matrix or row written out, exact.
inline Numbers exactly(const Dims& shape, const std::vector<double>& values) {
  Numbers result(shape);
  for (size_t n = 0; n < values.size(); ++n) result.values[n] = values[n];
  return result;
}

}  // namespace shiftgrad::test
