#pragma once

// The values of a file as numbers, and floats of one width as those of another.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/io/safetensors.h"

namespace shiftgrad {

/// Whether values of this type are floats that the library reads: F16, BF16, F32 and F64.
bool is_float(DType type);

/// Appends the values in `bytes` to `numbers`, and returns whether the library knows values of that
/// type as numbers: it knows those of BOOL, of integers, and of floats from 16 bits on.
bool append_numbers(DType dtype, std::span<const std::byte> bytes, std::vector<double>& numbers);

/// Returns the tensors with those of F32 rounded to BF16: to nearest, ties to even, NaN stays.
/// PyTorch: tensor.bfloat16().
std::map<std::string, StoredTensor> in_bfloat16(std::map<std::string, StoredTensor> tensors);

/// Whether no value is infinite or NaN. Those of types that are no floats never are.
bool is_finite(const StoredTensor& tensor);

/// Returns the tensors with those of F16, BF16, F32 and F64 as F32 or F64: `type`. Values that it
/// does not have are rounded to nearest, ties to even. Throws, naming the tensor, when a finite one
/// is beyond its range. PyTorch: tensor.float(), tensor.double().
std::map<std::string, StoredTensor> with_type(std::map<std::string, StoredTensor> tensors,
                                              DType type);

}  // namespace shiftgrad
