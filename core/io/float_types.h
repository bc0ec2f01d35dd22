#pragma once

// The types of real numbers that files have: F16, BF16, F32 and F64.

#include <map>
#include <string>

#include "core/io/safetensors.h"

namespace shiftgrad {

/// Whether no value is infinite or NaN. Those of other types never are.
bool is_finite(const StoredTensor& tensor);

/// Returns the tensors with those of real numbers as F32 or F64: `type`. Values that it does not
/// have are rounded to nearest. Throws, naming the tensor, when a finite one is beyond its range.
std::map<std::string, StoredTensor> with_type(std::map<std::string, StoredTensor> tensors,
                                              DType type);

}  // namespace shiftgrad
