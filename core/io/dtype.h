#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

#include "core/dims.h"

namespace shiftgrad {

/// The type of the values in a file. In memory, a tensor holds Scalars; see core/io/tensor_file.h.
enum class DType { boolean, u8, i8, i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64 };

/// Prints the name that safetensors files use: `F32`.
std::ostream& operator<<(std::ostream& out, DType dtype);

/// Returns the type of that name, if there is one.
std::optional<DType> dtype_named(std::string_view name);

/// The number of bytes that one value takes.
int64_t size_of(DType dtype);

/// The number of bytes that a row-major tensor takes. Throws when a size is negative, and when
/// memory could not hold that many bytes. The second holds also for a shape that is empty only
/// because of a size of 0.
int64_t byte_count(DType dtype, const Dims& shape);

}  // namespace shiftgrad
