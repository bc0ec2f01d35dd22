#pragma once

// Every parameter is made here, either with the values from which training starts, or without
// values, to be filled from a file.

#include "core/random.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The standard deviation of initial weights unless a module says otherwise. GPT-2 and
/// Transformer-XL use 0.02.
inline constexpr double initial_deviation = 0.02;

struct ParameterBudget;  // nn/parameter_budget.h

/// What the parameters of a new module start with: values drawn with these random numbers, or none
/// yet. A constructor that takes it takes a Random or ParameterBudget, which convert to it.
struct Init {
  Init() = default;
  /// Draws the values with which training starts.
  Init(Random& source) : random(&source) {}
  /// Leaves parameters without values, to be filled from a file.
  Init(ParameterBudget& budget);

  /// What values are drawn from.
  Random* random = nullptr;
  /// What parameters without values are counted by, null for those with values.
  ParameterBudget* unfilled = nullptr;
};

/// Returns a parameter drawn from the normal distribution N(0, deviation²). Throws when the
/// deviation is less than 0 or not finite.
Tensor normal_parameter(const Dims& shape, Init init, double deviation = initial_deviation);
/// Returns a parameter drawn uniformly from -reach to reach. Throws when that is less than 0 or not
/// finite.
Tensor uniform_parameter(const Dims& shape, Init init, double reach);
/// Returns a parameter whose elements all start at one value, which needs no random numbers.
Tensor constant_parameter(const Dims& shape, Scalar value, Init init = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
