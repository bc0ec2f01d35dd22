#include "core/io/dtype.h"

#include "core/errors.h"

namespace shiftgrad {

int64_t size_of(DType dtype) {
  // The types are in the order of their sizes.
  return dtype < DType::i16 ? 1 : dtype < DType::i32 ? 2 : dtype < DType::i64 ? 4 : 8;
}

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
