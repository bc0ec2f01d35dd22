#include "core/io/dtype.h"

#include "core/errors.h"

namespace shiftgrad {

int64_t byte_count(DType dtype, std::span<const int64_t> shape) {
  int64_t bits = bits_of(dtype);
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0) fail("a shape of ", shape_text(shape));
    empty |= size == 0;
    bool overflow = size > 0 && __builtin_mul_overflow(bits, size, &bits);
    if (overflow) fail("a shape of ", shape_text(shape), ", more than memory can hold");
  }
  if (!empty && bits % 8 != 0) fail(dtype, ' ', shape_text(shape), " ends within a byte");
  return empty ? 0 : bits / 8;
}

}  // namespace shiftgrad
