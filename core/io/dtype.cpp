#include "core/io/dtype.h"

#include <algorithm>

#include "core/errors.h"

namespace shiftgrad {

namespace {

struct Description {
  DType dtype;
  std::string_view name;
  int64_t size;
};

constexpr Description descriptions[] = {
    {DType::boolean, "BOOL", 1}, {DType::u8, "U8", 1},   {DType::i8, "I8", 1},
    {DType::i16, "I16", 2},      {DType::u16, "U16", 2}, {DType::f16, "F16", 2},
    {DType::bf16, "BF16", 2},    {DType::i32, "I32", 4}, {DType::u32, "U32", 4},
    {DType::f32, "F32", 4},      {DType::i64, "I64", 8}, {DType::u64, "U64", 8},
    {DType::f64, "F64", 8},
};

const Description& describe(DType dtype) {
  return *std::ranges::find(descriptions, dtype, &Description::dtype);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << describe(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  auto found = std::ranges::find(descriptions, name, &Description::name);
  if (found == std::end(descriptions)) return std::nullopt;
  return found->dtype;
}

int64_t size_of(DType dtype) { return describe(dtype).size; }

int64_t byte_count(DType dtype, const Dims& shape) {
  int64_t bytes = size_of(dtype);
  bool empty = false;
  for (int64_t size : shape) {
    require(size >= 0, "a shape of ", shape);
    empty |= size == 0;
    bool overflow = size > 0 && __builtin_mul_overflow(bytes, size, &bytes);
    require(!overflow, "a shape of ", shape, ", more than memory can hold");
  }
  return empty ? 0 : bytes;
}

}  // namespace shiftgrad
