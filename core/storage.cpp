#include "shiftgrad/core/storage.h"

#include "shiftgrad/core/machine/allocator.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Buffer::Buffer(int64_t count)
    : data_(CachedMemory<Scalar>().allocate(static_cast<size_t>(count))), count_(count) {}

Buffer::~Buffer() { CachedMemory<Scalar>().deallocate(data_, static_cast<size_t>(count_)); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
