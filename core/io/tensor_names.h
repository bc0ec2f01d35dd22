#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/io/safetensors.h"

namespace shiftgrad {

/// Throws unless the names of `tensors` are those in `wanted`. The error is one line that lists the
/// missing and the unexpected names.
void check_names(const std::vector<std::string>& wanted,
                 const std::map<std::string, StoredTensor>& tensors);

}  // namespace shiftgrad
