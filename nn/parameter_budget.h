#pragma once

// What a damaged file may demand: as many parameters as it has values for, and not more.

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "core/io/safetensors.h"
#include "core/random.h"
#include "nn/parameters.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

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
  /// Does that, and returns a tensor for its values.
  Tensor place_for(const Dims& shape);

  /// Values that are there.
  int64_t given = 0;
  /// Whether the parameters will be filled, and not only be asked for their shapes.
  bool is_filled = true;
  /// Values that may still be made.
  int64_t room = std::numeric_limits<int64_t>::max();
  /// For parts that the library does not know. They may read what they make, so it has values.
  Random random{};
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
