#pragma once

#include <map>
#include <string>

#include "core/io/safetensors.h"

namespace char_lm {

using Weights = std::map<std::string, shiftgrad::StoredTensor>;

/// Returns the weights with those of F32 rounded to BF16: to nearest, ties to even, NaN stays.
/// PyTorch: tensor.bfloat16().
Weights in_bfloat16(Weights weights);

/// Returns the weights with those of BF16 as F32, which has all of their values. PyTorch:
/// tensor.float().
Weights in_float32(Weights weights);

}  // namespace char_lm
