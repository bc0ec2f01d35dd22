#pragma once

// Converts between the tensors of a file and those in memory.

#include <map>
#include <string>
#include <vector>

#include "core/array.h"
#include "core/io/safetensors.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the values row-major for a file: those of the tensor itself where they lie so, which it
/// keeps, and which are others once somebody writes to the tensor; else a copy.
StoredTensor stored_view(const Tensor& tensor);
/// Returns a row-major copy of the values for a file.
StoredTensor stored(const Tensor& tensor);
StoredTensor stored(const Tokens& tokens);
StoredTensor stored(const Mask& mask);

/// Scalar's type, F32 or F64 by the build.
inline constexpr DType scalar_dtype = sizeof(Scalar) == 4 ? DType::f32 : DType::f64;

/// Throws unless the tensor that a file calls `name` has this shape and this type; check_stored
/// also counts its bytes.
void check_kind(const std::string& name, const StoredTensor& stored, const Dims& shape,
                DType dtype = scalar_dtype);
/// Throws as check_kind does, and when the number of bytes is not that of the shape.
void check_stored(const std::string& name, const StoredTensor& stored, const Dims& shape,
                  DType dtype = scalar_dtype);

/// Throws unless the names of `tensors` are those in `wanted`. The error is one line that lists the
/// missing and the unexpected names.
void check_names(const std::vector<std::string>& wanted,
                 const std::map<std::string, StoredTensor>& tensors);

/// Writes values of Scalar's type, which were checked, into a tensor of their shape.
void read_into(const Tensor& target, const StoredTensor& stored);
/// Returns the values of the tensor that a file calls `name`. Throws when they are not of Scalar's
/// type, F32 or F64 by the build.
Tensor loaded_tensor(const std::string& name, const StoredTensor& stored);
/// Returns the values of any type that holds numbers as Scalars: of BOOL, of integers, and of
/// floats from 16 bits on. So data of 0 and 1 may lie in a file as bytes. Floats are rounded to
/// nearest. Throws at a whole number of 2^24 or more in floats, 2^53 in doubles, and at a finite
/// float beyond the range. PyTorch: tensor.to(torch.float32).
Tensor converted_tensor(const std::string& name, const StoredTensor& stored);
/// Returns the tokens of a tensor of I64. Throws when one does not fit in 32 bits.
Tokens loaded_tokens(const std::string& name, const StoredTensor& stored);
/// Returns the mask of a tensor of BOOL.
Mask loaded_mask(const std::string& name, const StoredTensor& stored);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
