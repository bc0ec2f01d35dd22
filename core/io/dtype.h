#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/dims.h"
#include "core/named.h"

namespace shiftgrad {

/// The type of the values in a file: all that the format of safetensors 0.8 has. In memory, a
/// tensor holds Scalars; see core/io/tensor_file.h.
enum class DType {
  boolean, f4, f6_e2m3, f6_e3m2, u8, i8, f8_e5m2, f8_e4m3, f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz,
  i16, u16, f16, bf16, i32, u32, f32, c64, f64, i64, u64
};

/// What a file calls a type, and the number of bits that one value takes.
struct DTypeFacts {
  /// The name in a file, such as "F32".
  const char* name;
  /// The number of bits of a value.
  int bits;
};

/// The only table of the types, in the order of DType.
inline constexpr std::array dtypes = std::to_array<DTypeFacts>({
    {"BOOL", 8},     {"F4", 4},       {"F6_E2M3", 6},     {"F6_E3M2", 6},     {"U8", 8},
    {"I8", 8},       {"F8_E5M2", 8},  {"F8_E4M3", 8},     {"F8_E8M0", 8},     {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},  {"U16", 16},        {"F16", 16},        {"BF16", 16},
    {"I32", 32},     {"U32", 32},     {"F32", 32},        {"C64", 64},        {"F64", 64},
    {"I64", 64},     {"U64", 64},
});
static_assert(dtypes.size() == static_cast<size_t>(DType::u64) + 1);

constexpr auto names(DType) {
  std::array<const char*, dtypes.size()> list{};
  for (size_t n = 0; n < list.size(); ++n) list[n] = dtypes[n].name;
  return list;
}

/// The number of bits that one value takes. Four values of F6 lie in three bytes.
constexpr int bits_of(DType dtype) { return dtypes[static_cast<size_t>(dtype)].bits; }

/// The number of bytes that a row-major tensor takes. Throws when a size is negative, when the last
/// value ends within a byte, and when memory could not hold that many bytes. The last holds also
/// for a shape that is empty only because of a size of 0.
int64_t byte_count(DType dtype, std::span<const int64_t> shape);
inline int64_t byte_count(DType dtype, const Dims& shape) {
  return byte_count(dtype, std::span(shape.begin(), shape.end()));
}

}  // namespace shiftgrad
