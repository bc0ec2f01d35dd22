#include "shiftgrad/core/storage.h"

#include <utility>

#include "shiftgrad/core/machine/allocator.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Buffer::Buffer(int64_t count)
    : data_(CachedMemory<Scalar>().allocate(static_cast<size_t>(count))), count_(count) {}

Buffer::Buffer(Scalar* data, int64_t count, std::shared_ptr<const void> owner)
    : data_(data), count_(count), own_(false), owner_(std::move(owner)) {}

Buffer::~Buffer() {
  if (own_) CachedMemory<Scalar>().deallocate(data_, static_cast<size_t>(count_));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
