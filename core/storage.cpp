#include "shiftgrad/core/storage.h"

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/allocator.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

size_t bytes_of(int64_t count) {
  size_t bytes = 0;
  require(count >= 0 && !__builtin_mul_overflow(count, sizeof(Scalar), &bytes), "buffer: ", count,
          " elements, expected fewer");
  return bytes;
}

}  // namespace

Buffer::Buffer(int64_t count)
    : data_(static_cast<Scalar*>(allocate(bytes_of(count)))), count_(count) {}

Buffer::~Buffer() { release(data_, static_cast<size_t>(count_) * sizeof(Scalar)); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
