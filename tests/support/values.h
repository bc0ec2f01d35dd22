#pragma once

// What the oracles of layers compute with: plain arrays of doubles, in both builds.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/tensor.h"
#include "nn/module.h"

namespace shiftgrad::test {

/// A dense row-major array.
struct Values {
  Dims shape;
  std::vector<double> values;

  Values() = default;
  /// All zero.
  explicit Values(const Dims& dims) : shape(dims), values(static_cast<size_t>(product(dims))) {}
  explicit Values(const Tensor& x) : shape(x.shape()) {
    for (Scalar value : x.values()) values.push_back(static_cast<double>(value));
  }

  int64_t size(int axis) const { return shape[axis]; }
  bool defined() const { return !shape.empty(); }

  /// x(b, i, c)
  template <class... Index>
  double& operator()(Index... index) {
    size_t at = 0;
    int axis = 0;
    ((at = at * static_cast<size_t>(shape[axis++]) + static_cast<size_t>(index)), ...);
    return values[at];
  }
  template <class... Index>
  const double& operator()(Index... index) const {
    return const_cast<Values&>(*this)(index...);
  }

  Tensor tensor() const {
    std::vector<Scalar> scalars;
    for (double value : values) scalars.push_back(static_cast<Scalar>(value));
    return Tensor::from(shape, scalars);
  }
};

inline double greatest(const Values& x) {
  double result = 0;
  for (double value : x.values) result = std::max(result, std::abs(value));
  return result;
}

/// max |got - expected| / max |expected|; 0 only when both are equal, infinite when the shapes
/// differ or a NaN is in one of them.
inline double relative_error(const Values& got, const Values& expected) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!(got.shape == expected.shape)) return infinity;
  double error = 0;
  for (size_t n = 0; n < got.values.size(); ++n) {
    double difference = std::abs(got.values[n] - expected.values[n]);
    if (std::isnan(difference)) return infinity;
    error = std::max(error, difference);
  }
  return error == 0 ? 0 : error / greatest(expected);
}

inline double relative_error(const Tensor& got, const Values& expected) {
  return relative_error(Values(got), expected);
}

inline double relative_error(const Tensor& got, const Tensor& expected) {
  return relative_error(Values(got), Values(expected));
}

/// What is promised of every layer's results in this build.
inline constexpr double exactness = sizeof(Scalar) == 8 ? 1e-12 : 1e-5;

/// How far the same means, summed in another order, may be apart.
inline constexpr double near = 100 * std::numeric_limits<Scalar>::epsilon();

/// A module's parameters by name.
struct Weights {
  std::map<std::string, Values> all;

  Weights() = default;
  explicit Weights(const Module& module) {
    for (const Parameter& parameter : parameters(module))
      all[parameter.name] = Values(parameter.value);
  }

  /// The parameter, undefined when the module has none of that name.
  const Values& operator[](const std::string& name) const {
    static const Values absent;
    auto found = all.find(name);
    return found == all.end() ? absent : found->second;
  }

  /// Those of the member `name`, under their names in it.
  Weights of(const std::string& name) const {
    Weights members;
    std::string prefix = name + ".";
    for (const auto& [full, values] : all)
      if (full.starts_with(prefix)) members.all[full.substr(prefix.size())] = values;
    return members;
  }
};

}  // namespace shiftgrad::test
