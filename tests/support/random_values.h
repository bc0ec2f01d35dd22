#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/tensor.h"

namespace shiftgrad::test {

/// Repeatable random numbers, from a generator that is not the one under test.
class RandomValues {
 public:
  explicit RandomValues(uint64_t seed, double low = -1, double high = 1)
      : engine_(seed), low_(low), high_(high) {}

  /// Evenly from low … high, but not within 0.01 of 0: a difference quotient must not straddle the
  /// kink of a function like ReLU.
  Scalar operator()() {
    double value = 0;
    while (value > -0.01 && value < 0.01)
      value = low_ + (high_ - low_) * static_cast<double>(engine_() >> 11) * 0x1p-53;
    return static_cast<Scalar>(value);
  }

  std::vector<Scalar> vector(int64_t count) {
    std::vector<Scalar> values(static_cast<size_t>(count));
    for (Scalar& value : values) value = (*this)();
    return values;
  }

  Tensor tensor(const Dims& shape) { return Tensor::from(shape, vector(product(shape))); }

 private:
  std::mt19937_64 engine_;
  double low_, high_;
};

}  // namespace shiftgrad::test
