#pragma once

// Where every parameter is made: with the values from which training starts, or without any, for
// those of a file to be copied into it.

#include <cstdint>
#include <map>
#include <string>

#include "shiftgrad/core/io/safetensors.h"
#include "shiftgrad/core/random.h"
#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The standard deviation from which weights start unless a module says otherwise: GPT-2's and
/// Transformer-XL's 0.02.
inline constexpr double initial_deviation = 0.02;

/// A parameter drawn from the normal distribution N(0, deviation²).
Tensor normal_parameter(const Dims& shape, Random& random, double deviation = initial_deviation);
/// A parameter drawn evenly from -reach to reach.
Tensor uniform_parameter(const Dims& shape, Random& random, double reach);
/// A parameter that starts at one value.
Tensor constant_parameter(const Dims& shape, Scalar value);

/// Whether parameters that this thread makes now have values.
bool parameters_are_filled();

/// While one lives, the parameters that this thread makes have shapes but no values: nothing is
/// drawn, and no page of their memory is touched. They may be about twice as many as `weights`, for
/// a model drops those that it then shares; what goes beyond throws before it takes any memory, so
/// that the config of a damaged file does not get what it asks for.
class UnfilledParameters {
 public:
  explicit UnfilledParameters(const std::map<std::string, StoredTensor>& weights);
  ~UnfilledParameters();
  UnfilledParameters(const UnfilledParameters&) = delete;
  UnfilledParameters& operator=(const UnfilledParameters&) = delete;

  /// One parameter more, of this shape. Throws when that is one too many.
  void add(const Dims& shape);

  /// While one lives, parameters have values all the same, and still count. It is for parts that
  /// the library does not know: they may read what they make.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    bool outer_;
  };

 private:
  UnfilledParameters* outer_;
  bool outer_filled_;
  int64_t given_ = 0, room_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
