#pragma once

#include <array>
#include <cstdint>

#include "core/dims.h"
#include "core/named.h"

namespace shiftgrad {

/// The type of the values in a file. In memory, a tensor holds Scalars; see core/io/tensor_file.h.
enum class DType { boolean, u8, i8, i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64 };

/// The names that safetensors files use.
constexpr auto names(DType) {
  return std::array{"BOOL", "U8",  "I8",  "I16", "U16", "F16", "BF16",
                    "I32",  "U32", "F32", "I64", "U64", "F64"};
}

/// The number of bytes that one value takes.
int64_t size_of(DType dtype);

/// The number of bytes that a row-major tensor takes. Throws when a size is negative, and when
/// memory could not hold that many bytes. The second holds also for a shape that is empty only
/// because of a size of 0.
int64_t byte_count(DType dtype, const Dims& shape);

}  // namespace shiftgrad
