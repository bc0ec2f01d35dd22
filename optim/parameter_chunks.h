#pragma once

#include <cstdint>
#include <vector>

#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The elements begin … end-1 of one parameter.
struct ParameterChunk {
  size_t parameter;
  int64_t begin, end;
};

/// Returns all parameters that have a gradient, cut into chunks of similar work for the threads.
/// The cut depends on the shapes only.
std::vector<ParameterChunk> parameter_chunks(const std::vector<Parameter>& parameters);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
