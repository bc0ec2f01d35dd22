#pragma once

// Numbers that know how far a computation in the build's Scalar may be off. An oracle written with
// them gives its value in double and, by the rules of running error analysis, the tolerance that
// a test has to allow: none is ever chosen by hand.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/scalar.h"

namespace shiftgrad::test {

/// The distance from 1 to the next Scalar: twice the error of one rounding.
inline constexpr double epsilon = std::numeric_limits<Scalar>::epsilon();

/// A value, computed in double, and a bound on the error of the same steps done in Scalar.
struct Bounded {
  double value = 0;
  double error = 0;
  /// Σ |terms| of the sum that gave the value: other orders of addition round on this scale.
  double magnitude = 0;

  Bounded() = default;
  /// An exact number.
  Bounded(double exact) : value(exact), magnitude(std::abs(exact)) {}
  Bounded(double v, double e, double m) : value(v), error(e), magnitude(m) {}

  /// What a test may allow between the value and a Scalar result.
  double tolerance() const { return error + std::numeric_limits<Scalar>::min(); }
};

/// f(x), given its value and slope there, for a function that is right to 4 units in the last
/// place.
inline Bounded rounded(const Bounded& x, double value, double slope) {
  return {value, std::abs(slope) * x.error + 4 * epsilon * std::abs(value), std::abs(value)};
}

inline Bounded operator+(const Bounded& a, const Bounded& b) {
  double magnitude = a.magnitude + b.magnitude;
  return {a.value + b.value, a.error + b.error + epsilon * magnitude, magnitude};
}
inline Bounded operator-(const Bounded& a) { return {-a.value, a.error, a.magnitude}; }
inline Bounded operator-(const Bounded& a, const Bounded& b) { return a + -b; }
inline Bounded operator*(const Bounded& a, const Bounded& b) {
  double value = a.value * b.value, size = std::abs(value);
  return {value,
          std::abs(a.value) * b.error + (std::abs(b.value) + b.error) * a.error + epsilon * size,
          size};
}
inline Bounded operator/(const Bounded& a, const Bounded& b) {
  double value = a.value / b.value, size = std::abs(value);
  return {value, (a.error + size * b.error) / (std::abs(b.value) - b.error) + epsilon * size, size};
}
inline Bounded& operator+=(Bounded& a, const Bounded& b) { return a = a + b; }

inline Bounded exp(const Bounded& x) { return rounded(x, std::exp(x.value), std::exp(x.value)); }
inline Bounded sigma(const Bounded& x) { return Bounded(1) / (Bounded(1) + exp(-x)); }
inline Bounded log(const Bounded& x) { return rounded(x, std::log(x.value), 1 / x.value); }
/// Also near 0, where the slope is infinite.
inline Bounded sqrt(const Bounded& x) {
  double value = std::sqrt(x.value), below = std::sqrt(std::max(x.value - x.error, 0.0));
  double error = std::max(value - below, std::sqrt(x.value + x.error) - value);
  return {value, error + 4 * epsilon * value, value};
}
inline Bounded tanh(const Bounded& x) { return rounded(x, std::tanh(x.value), 1); }
inline Bounded erf(const Bounded& x) {
  return rounded(x, std::erf(x.value), 2 * std::numbers::inv_sqrtpi);
}

}  // namespace shiftgrad::test
