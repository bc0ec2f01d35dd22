#include "core/storage.h"

#include <cstddef>
#include <utility>

#include "core/errors.h"
#include "core/machine/allocator.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the number in the allocator's type, which has 32 bits on some machines.
size_t allocator_count(int64_t count) {
  require(std::in_range<size_t>(count), "allocate: ", count, " elements, expected fewer");
  return static_cast<size_t>(count);
}

}  // namespace

Buffer::Buffer(int64_t count)
    : data_(CachedMemory<Scalar>().allocate(allocator_count(count))), count_(count) {}

Buffer::Buffer(Scalar* data, int64_t count, std::shared_ptr<const void> owner)
    : data_(data), count_(count), own_(false), owner_(std::move(owner)) {}

Buffer::~Buffer() {
  if (own_) CachedMemory<Scalar>().deallocate(data_, static_cast<size_t>(count_));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
