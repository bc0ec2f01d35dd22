#include "optim/parameter_chunks.h"

#include <algorithm>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::vector<ParameterChunk> parameter_chunks(const std::vector<Parameter>& parameters) {
  constexpr int64_t chunk_size = 8192;  // with two moments, 128 KiB of floats: half an L2
  std::vector<ParameterChunk> all;
  for (size_t n = 0; n < parameters.size(); ++n) {
    if (!parameters[n].value.gradient().defined()) continue;
    require(parameters[n].value.is_contiguous(), "parameter ", parameters[n].name,
            " is not contiguous");
    int64_t count = parameters[n].value.count();
    for (int64_t begin = 0; begin < count; begin += chunk_size)
      all.push_back({n, begin, std::min(begin + chunk_size, count)});
  }
  return all;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
