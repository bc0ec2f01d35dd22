#pragma once

// Every parameter is made here, either with the values from which training starts, or without
// values, to be filled from a file.

#include <cstdint>
#include <map>
#include <string>

#include "core/io/safetensors.h"
#include "core/random.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The standard deviation of initial weights unless a module says otherwise. GPT-2 and
/// Transformer-XL use 0.02.
inline constexpr double initial_deviation = 0.02;

/// Returns a parameter drawn from the normal distribution N(0, deviation²).
Tensor normal_parameter(const Dims& shape, Random& random, double deviation = initial_deviation);
/// Returns a parameter drawn uniformly from -reach to reach.
Tensor uniform_parameter(const Dims& shape, Random& random, double reach);
/// Returns a parameter whose elements all start at one value.
Tensor constant_parameter(const Dims& shape, Scalar value);

/// Whether the parameters that this thread makes now get values.
bool parameters_are_filled();

/// Guard under which this thread makes parameters that have shapes but no values. While it lives,
/// nothing is drawn, and no page of their memory is touched. The parameters may hold about twice as
/// many values as `weights`, since a model drops those it then shares. Anything beyond that throws
/// before it takes memory, so a damaged file cannot demand more.
class UnfilledParameters {
 public:
  explicit UnfilledParameters(const std::map<std::string, StoredTensor>& weights);
  /// Makes parameters without that limit, for a config that does not come from a file.
  UnfilledParameters();
  ~UnfilledParameters();
  UnfilledParameters(const UnfilledParameters&) = delete;
  UnfilledParameters& operator=(const UnfilledParameters&) = delete;

  /// Counts one more parameter, of this shape. Throws when that is one too many.
  void add(const Dims& shape);

  /// Guard under which parameters get values after all, and still count. It is for parts that the
  /// library does not know, which may read what they make.
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
