#pragma once

// The memory of all values. A block that was released is kept and handed out again for the next
// request of about its size. A training step asks for the same sizes again and again, so after the
// first step it takes no memory from the system and touches no fresh page. A large request may get
// a block that is up to half as large again. Steps of other sizes leave blocks behind that nobody
// asks for again. These go back to the system before all blocks together take more than 5/4 of the
// peak of what was in use, or 64 MB more than is in use.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/errors.h"

namespace shiftgrad {

/// Returns uninitialised memory for at least `bytes` bytes, aligned to 64; never null, not even for
/// 0 bytes. Throws an OutOfMemory if the system has no more, even after the cached blocks are given
/// back.
void* allocate(size_t bytes);

/// Takes back what allocate(bytes) gave, on any thread; `bytes` must be the same number.
void release(void* block, size_t bytes);

/// Throws an OutOfMemory unless the system may have a block of so many elements.
void require_block(bool possible, auto elements) {
  if (!possible) [[unlikely]]
    throw OutOfMemory(text("allocate: ", elements, " elements, expected fewer"));
}

/// An allocator through which a std::vector takes its memory from `allocate`.
template <class T>
struct CachedMemory {
  /// The type of the elements.
  using value_type = T;

  CachedMemory() = default;
  /// Makes the one of another type, as std::vector asks for.
  template <class Other>
  CachedMemory(const CachedMemory<Other>&) {}

  /// Returns a block of `count` elements.
  T* allocate(size_t count) {
    size_t bytes = 0;
    require_block(!__builtin_mul_overflow(count, sizeof(T), &bytes), count);
    return static_cast<T*>(shiftgrad::allocate(bytes));
  }
  /// Gives a block of `count` elements back.
  void deallocate(T* block, size_t count) { release(block, count * sizeof(T)); }
  bool operator==(const CachedMemory&) const = default;
};

/// A vector for what each step needs anew: the allocator keeps its memory from step to step, which
/// the C library would give back to the system and take again.
template <class T>
using CachedVector = std::vector<T, CachedMemory<T>>;

/// Uninitialised elements in a block of the allocator, to which it goes back at the end. An array
/// of no elements has no block. Throws an OutOfMemory for a number of elements that no block has.
template <class T>
class CachedArray {
 public:
  CachedArray() = default;
  /// Takes a block of `count` elements.
  explicit CachedArray(int64_t count) {
    if (count == 0) return;
    require_block(std::in_range<size_t>(count), count);
    const auto elements = static_cast<size_t>(count);
    data_ = {CachedMemory<T>().allocate(elements), Release{elements}};
  }

  /// The first element, null where there is none.
  T* data() const { return data_.get(); }
  /// The number of elements.
  int64_t count() const { return static_cast<int64_t>(data_.get_deleter().elements); }

 private:
  struct Release {
    size_t elements = 0;
    void operator()(T* block) const { CachedMemory<T>().deallocate(block, elements); }
  };

  std::unique_ptr<T, Release> data_;
};

/// Whether released blocks are kept. Under a sanitizer, which has to see every block come and go,
/// they are not kept, and a block is no larger than the request.
bool allocator_caches();

/// Gives all cached blocks back to the system. (PyTorch: torch.cuda.empty_cache)
void release_cached();

/// What the allocator has done in this process; sizes count whole blocks, rounding included.
/// (PyTorch: torch.cuda.memory_stats)
struct AllocatorCounters {
  int64_t calls;               ///< Calls of `allocate`.
  int64_t system_allocations;  ///< Calls for which no cached block was at hand.
  int64_t bytes_in_use;        ///< Bytes handed out and not yet released.
  int64_t peak_bytes_in_use;   ///< The most since the start or the last reset_peak.
  int64_t bytes_cached;        ///< Bytes released and kept.
};

/// Returns the counters as they are now.
AllocatorCounters allocator_counters();

/// Makes `allocate` fill each block that it hands out with NaN, be it new or used before, until it
/// is called with false. It is for tests: what reads memory that nobody has written then shows.
void fill_fresh_memory(bool fill);

/// Restarts the peak from what is in use now. (PyTorch: torch.cuda.reset_peak_memory_stats)
void reset_peak();

}  // namespace shiftgrad
