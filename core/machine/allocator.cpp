#include "core/machine/allocator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "core/errors.h"
#include "core/machine/limits.h"
#include "core/machine/sanitizer.h"
#include "core/machine/spin_lock.h"
#include "core/machine/system_memory.h"

namespace shiftgrad {

namespace {

constexpr bool caching = !address_sanitizer && !thread_sanitizer;
constexpr size_t alignment = 64;
/// 64 TiB, or all that a pointer of 32 bits reaches in one block.
constexpr auto largest_request =
    static_cast<size_t>(std::min<uint64_t>(uint64_t{1} << 46, PTRDIFF_MAX));

/// Block sizes are 1, 2, …, 16, then 17, 18, …, 32 · 2^n units of 64 bytes: from 1 KiB on, a block
/// is less than a sixteenth larger than the request. Each size is a class of blocks.
constexpr size_t sizes_of_doubling = 16;
constexpr size_t class_count = sizes_of_doubling * 40;

/// The class of a request.
size_t class_of(size_t bytes) {
  size_t units = std::max<size_t>(1, (bytes + alignment - 1) / alignment);
  auto digits = static_cast<int>(std::bit_width((units - 1) / sizes_of_doubling));
  int doublings = std::max(0, digits - 1);
  return sizes_of_doubling * static_cast<size_t>(doublings) + ((units - 1) >> doublings);
}

/// The size of a block of this class.
int64_t block_bytes(size_t index) {
  size_t doublings = std::max<size_t>(1, index / sizes_of_doubling) - 1;
  size_t units = (index + 1 - sizes_of_doubling * doublings) << doublings;
  return static_cast<int64_t>(units * alignment);
}

/// A released block holds the link to the next one of its class.
struct FreeBlock {
  FreeBlock* next;
};

/// One lock guards all blocks: a step of training allocates some ten thousand times in a second,
/// which keeps it busy for a thousandth of that.
constinit SpinLock lock;
[[maybe_unused]] const bool forks_hold_it = hold_over_forks<lock>();

/// The least request that may get a block of a larger class.
constexpr size_t least_lent = size_t{1} << 20;

/// A block that was handed out for less than its class holds.
struct Lent {
  void* block;
  size_t index;
};

/// The free blocks and the counters.
struct Pool {
  std::array<FreeBlock*, class_count> free = {};
  /// The number of calls when a class was last asked for or given a block.
  std::array<int64_t, class_count> last_used = {};
  AllocatorCounters counters = {};
  /// What was asked for of all that is in use: the rest of a block is never touched.
  int64_t bytes_requested = 0;
  /// The first `lent_count` are in use.
  std::array<Lent, 256> lent = {};
  size_t lent_count = 0;
};

// No constructor and no destructor runs, so blocks may come and go before and after main.
static_assert(std::is_trivially_destructible_v<Pool>);
constinit Pool pool;

constinit std::atomic<bool> filling = false;

/// Takes a free block of the class, which must have one.
void* pop(size_t index) {
  FreeBlock* block = pool.free[index];
  pool.free[index] = block->next;
  pool.counters.bytes_cached -= block_bytes(index);
  return block;
}

/// Gives free blocks back to the system until at most `bytes` of them are left, those first that
/// nobody has asked for in the longest time.
void shrink(int64_t bytes) {
  while (pool.counters.bytes_cached > bytes) {
    auto age = [](size_t index) {
      return pool.free[index] ? pool.last_used[index] : std::numeric_limits<int64_t>::max();
    };
    size_t oldest = 0;
    for (size_t index = 1; index < class_count; ++index)
      if (age(index) < age(oldest)) oldest = index;
    while (pool.free[oldest] && pool.counters.bytes_cached > bytes)
      return_to_system(pop(oldest), static_cast<size_t>(block_bytes(oldest)));
  }
}

/// The bytes that all blocks may hold: beyond them Linux would kill the process.
int64_t most_bytes() {
  int64_t limit = memory_limit(), most = 0;
  return __builtin_add_overflow(limit, swap_space(), &most) ? limit : most;
}

/// The bytes that new blocks may still hold.
int64_t bytes_left() { return most_bytes() - pool.bytes_requested; }

/// Takes a block of the class from the system, after free ones of other classes have made room: all
/// blocks together stay below 5/4 of the peak, or the free ones small. A step of a model that
/// repeats keeps 1.05 to 1.13 times its peak in blocks of all its sizes; that of a single layer,
/// which has few blocks at a time, keeps more.
void* allocate_from_system(size_t requested, size_t index) {
  constexpr int64_t small = int64_t{64} << 20;
  int64_t left = bytes_left();
  if (std::cmp_greater(requested, left))
    throw OutOfMemory(text(
        "allocate: ", requested, " bytes, where ", std::max<int64_t>(0, left), " are left of the ",
        most_bytes(), " that this process may have (its cgroup's limit or the machine's memory)"));
  int64_t in_use = pool.counters.bytes_in_use + block_bytes(index);
  int64_t peak = std::max(pool.counters.peak_bytes_in_use, in_use);
  shrink(std::min(std::max(small, peak / 4 * 5 - in_use), left - static_cast<int64_t>(requested)));
  auto bytes = caching ? static_cast<size_t>(block_bytes(index)) : std::max<size_t>(1, requested);
  ++pool.counters.system_allocations;
  if (void* block = take_from_system(bytes)) return block;
  shrink(0);
  if (void* block = take_from_system(bytes)) return block;
  throw OutOfMemory(text("allocate: the system has no block of ", bytes, " bytes; ",
                         pool.counters.bytes_in_use, " are in use"));
}

/// Takes a free block of the class or, for a large request, of the next classes up to half as large
/// again: gradients then have the memory of activations that the backward pass has released, and
/// the activations of the next step have theirs. Returns null where there is none, else sets
/// `index` to the block's class.
void* free_block(size_t bytes, size_t& index) {
  if (pool.free[index]) return pop(index);
  if (bytes < least_lent || pool.lent_count == pool.lent.size()) return nullptr;
  for (size_t other = index + 1; other <= index + sizes_of_doubling / 2; ++other) {
    if (!pool.free[other]) continue;
    index = other;
    void* block = pop(other);
    pool.lent[pool.lent_count++] = {block, other};
    return block;
  }
  return nullptr;
}

/// Returns the class of a block that comes back, where it was handed out for so many bytes.
size_t class_of_returned(void* block, size_t bytes) {
  if (bytes < least_lent) return class_of(bytes);
  auto end = pool.lent.begin() + pool.lent_count;
  auto lent =
      std::find_if(pool.lent.begin(), end, [&](const Lent& one) { return one.block == block; });
  if (lent == end) return class_of(bytes);
  size_t index = lent->index;
  *lent = pool.lent[--pool.lent_count];
  return index;
}

void* take(size_t bytes) {
  if (bytes > largest_request) [[unlikely]]
    throw OutOfMemory(text("allocate: ", bytes, " bytes: expected at most ", largest_request));
  size_t index = class_of(bytes);
  std::lock_guard guard(lock);
  void* block = free_block(bytes, index);
  if (!block) block = allocate_from_system(bytes, index);
  AllocatorCounters& now = pool.counters;
  now.bytes_in_use += block_bytes(index);
  pool.bytes_requested += static_cast<int64_t>(bytes);
  now.peak_bytes_in_use = std::max(now.peak_bytes_in_use, now.bytes_in_use);
  pool.last_used[index] = ++now.calls;
  return block;
}

}  // namespace

void fill_fresh_memory(bool fill) { filling = fill; }

void* allocate(size_t bytes) {
  void* block = take(bytes);
  if (filling) std::memset(block, 0xff, bytes);  // a float or double of ones only is NaN
  return block;
}

void release(void* block, size_t bytes) {
  std::lock_guard guard(lock);
  size_t index = class_of_returned(block, bytes);
  pool.counters.bytes_in_use -= block_bytes(index);
  pool.bytes_requested -= static_cast<int64_t>(bytes);
  if (!caching) return return_to_system(block, bytes);
  pool.free[index] = new (block) FreeBlock{pool.free[index]};
  pool.last_used[index] = pool.counters.calls;
  pool.counters.bytes_cached += block_bytes(index);
}

bool allocator_caches() { return caching; }

void release_cached() {
  std::lock_guard guard(lock);
  shrink(0);
}

AllocatorCounters allocator_counters() {
  std::lock_guard guard(lock);
  return pool.counters;
}

void reset_peak() {
  std::lock_guard guard(lock);
  pool.counters.peak_bytes_in_use = pool.counters.bytes_in_use;
}

}  // namespace shiftgrad
