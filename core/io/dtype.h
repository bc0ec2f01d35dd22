#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

#include "shiftgrad/core/layout.h"

namespace shiftgrad {

/// The type of the values in a file. Tensors in memory are of Scalar; see core/io/tensor_file.h.
enum class DType { boolean, u8, i8, i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64 };

/// Prints the name that safetensors files use: `F32`.
std::ostream& operator<<(std::ostream& out, DType dtype);

/// The type of that name, if there is one.
std::optional<DType> dtype_named(std::string_view name);

/// The bytes one value takes.
int64_t size_of(DType dtype);

/// The bytes a row-major tensor takes. Throws when a size is negative or when memory could not be
/// that large; the latter also for shapes that a size of 0 makes empty.
int64_t byte_count(DType dtype, const Dims& shape);

}  // namespace shiftgrad
