#pragma once

// Every parameter is made here, either with the values from which training starts, or without
// values, to be filled from a file.

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "core/io/safetensors.h"
#include "core/random.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The standard deviation of initial weights unless a module says otherwise. GPT-2 and
/// Transformer-XL use 0.02.
inline constexpr double initial_deviation = 0.02;

/// How many values the parameters of a model may hold that is to be filled from a file: about twice
/// as many as `weights`, since a model drops those it then shares. Anything beyond that throws
/// before it takes memory, so a damaged file cannot demand more. Nothing is drawn for such
/// parameters, and no page of their memory is touched.
struct ParameterBudget {
  /// Is made as for what a file has.
  explicit ParameterBudget(const std::map<std::string, StoredTensor>& weights);
  /// Is made as for `tensors` weights of `values` values in all.
  ParameterBudget(int64_t values, int64_t tensors);
  /// Sets no limit, for a config that does not come from a file.
  ParameterBudget() = default;

  /// Counts one more parameter, of this shape. Throws when that is one too many.
  void add(const Dims& shape);

  /// Values that are there.
  int64_t given = 0;
  /// Whether the parameters will be filled, and not only be asked for their shapes.
  bool is_filled = true;
  /// Values that may still be made.
  int64_t room = std::numeric_limits<int64_t>::max();
  /// For parts that the library does not know. They may read what they make, so it has values.
  Random random{};
};

/// What the parameters of a new module start with: values drawn with these random numbers, or none
/// yet. A constructor that takes it takes a Random or ParameterBudget, which convert to it.
struct Init {
  Init() = default;
  /// Draws the values with which training starts.
  Init(Random& source) : random(&source) {}
  /// Leaves parameters without values, to be filled from a file.
  Init(ParameterBudget& budget) : random(&budget.random), unfilled(&budget) {}

  /// What values are drawn from.
  Random* random = nullptr;
  /// What parameters without values are counted by, null for those with values.
  ParameterBudget* unfilled = nullptr;
};

/// Returns a parameter drawn from the normal distribution N(0, deviation²). Throws when the
/// deviation is less than 0 or not finite.
Tensor normal_parameter(const Dims& shape, Init values, double deviation = initial_deviation);
/// Returns a parameter drawn uniformly from -reach to reach. Throws when that is less than 0 or not
/// finite.
Tensor uniform_parameter(const Dims& shape, Init values, double reach);
/// Returns a parameter whose elements all start at one value, which needs no random numbers.
Tensor constant_parameter(const Dims& shape, Scalar value, Init values = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
