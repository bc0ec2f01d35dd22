#pragma once

// The values of a file as numbers, and floats of one width as those of another.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/io/safetensors.h"

namespace shiftgrad {

/// Appends the values in `bytes` to `numbers`, and returns whether the library knows what numbers
/// values of that type are: those of BOOL, of integers, and of floats from 16 bits on.
bool append_numbers(DType dtype, std::span<const std::byte> bytes, std::vector<double>& numbers);

/// Returns the tensors with those of F32 rounded to BF16: to nearest, ties to even, NaN stays.
/// PyTorch: tensor.bfloat16().
std::map<std::string, StoredTensor> in_bfloat16(std::map<std::string, StoredTensor> tensors);

/// Returns the tensors with those of BF16, F16 and F64 as F32. It has all values of the first two;
/// those of F64 are rounded to nearest, ties to even. PyTorch: tensor.float().
std::map<std::string, StoredTensor> in_float32(std::map<std::string, StoredTensor> tensors);

}  // namespace shiftgrad
