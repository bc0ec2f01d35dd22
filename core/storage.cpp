#include "core/storage.h"

#include "core/allocator.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

Buffer::Buffer(int64_t count)
    : data_(static_cast<Scalar*>(allocate(static_cast<size_t>(count) * sizeof(Scalar)))),
      count_(count) {}

Buffer::~Buffer() { release(data_, static_cast<size_t>(count_) * sizeof(Scalar)); }

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
