#include "shiftgrad/core/machine/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/sanitizer.h"

namespace shiftgrad {

namespace {

constexpr bool caching = !address_sanitizer && !thread_sanitizer;
constexpr size_t alignment = 64;
/// 64 TiB, or all that a pointer of 32 bits reaches in one block.
constexpr auto largest_request =
    static_cast<size_t>(std::min<uint64_t>(uint64_t{1} << 46, PTRDIFF_MAX));

/// Block sizes are 1, 2, 3, 4, then 5, 6, 7, 8 · 2^n units of 64 bytes: from 256 bytes on, a block
/// is less than a quarter larger than the request.
struct SizeClass {
  static constexpr size_t count = 4 * 40;
  size_t index;
  int64_t block_bytes;

  explicit SizeClass(size_t bytes) {
    size_t units = std::max<size_t>(1, (bytes + alignment - 1) / alignment);
    int doublings = std::max(0, static_cast<int>(std::bit_width(units - 1)) - 3);
    size_t mantissa = ((units - 1) >> doublings) + 1;  // 1 … 8
    index = 4 * static_cast<size_t>(doublings) + mantissa - 1;
    block_bytes = static_cast<int64_t>((mantissa << doublings) * alignment);
  }
};

/// A released block holds the link to the next one of its class.
struct FreeBlock {
  FreeBlock* next;
};

/// The bytes handed out by all threads together, and the most there ever were. The shards report
/// in steps of report_bytes, so that threads seldom write to the same cache line.
constexpr int64_t report_bytes = 64 * 1024;
std::atomic<int64_t> reported_bytes = 0;
std::atomic<int64_t> peak_bytes = 0;

void raise_peak(int64_t bytes) {
  int64_t peak = peak_bytes.load();
  while (bytes > peak && !peak_bytes.compare_exchange_weak(peak, bytes)) {
  }
}

/// The free blocks and counters of some of the threads; with several shards one thread seldom waits
/// for another.
class alignas(alignment) Shard {
 public:
  /// Hands out a cached block of the class, or null.
  void* hand_out(const SizeClass& size) {
    std::lock_guard lock(mutex_);
    void* block = pop(size);
    if (block) count(size, 1);
    return block;
  }

  /// Hands out a block that comes from elsewhere.
  void* hand_out(void* block, const SizeClass& size, bool from_system) {
    std::lock_guard lock(mutex_);
    system_allocations_ += from_system;
    count(size, 1);
    return block;
  }

  /// Gives a cached block of the class, or null, to another shard.
  void* give_up(const SizeClass& size) {
    std::lock_guard lock(mutex_);
    return pop(size);
  }

  void take_back(void* block, const SizeClass& size) {
    std::lock_guard lock(mutex_);
    count(size, -1);
    if (!caching) return std::free(block);
    free_[size.index] = new (block) FreeBlock{free_[size.index]};
    bytes_cached_ += size.block_bytes;
  }

  void free_cached() {
    std::lock_guard lock(mutex_);
    for (FreeBlock*& first : free_)
      while (first) std::free(std::exchange(first, first->next));
    bytes_cached_ = 0;
  }

  void add_to(AllocatorCounters& counters) {
    std::lock_guard lock(mutex_);
    report();
    counters.calls += calls_;
    counters.system_allocations += system_allocations_;
    counters.bytes_cached += bytes_cached_;
  }

 private:
  void* pop(const SizeClass& size) {
    FreeBlock* block = free_[size.index];
    if (!block) return nullptr;
    free_[size.index] = block->next;
    bytes_cached_ -= size.block_bytes;
    return block;
  }

  /// Counts one block that was handed out (1) or taken back (-1).
  void count(const SizeClass& size, int direction) {
    calls_ += direction == 1;
    unreported_ += direction * size.block_bytes;
    unreported_peak_ = std::max(unreported_peak_, unreported_);
    if (std::abs(unreported_) >= report_bytes) report();
  }

  void report() {
    int64_t before = reported_bytes.fetch_add(unreported_);
    raise_peak(before + unreported_peak_);
    unreported_ = unreported_peak_ = 0;
  }

  std::mutex mutex_;
  std::array<FreeBlock*, SizeClass::count> free_ = {};
  int64_t calls_ = 0;
  int64_t system_allocations_ = 0;
  int64_t bytes_cached_ = 0;
  int64_t unreported_ = 0;
  int64_t unreported_peak_ = 0;
};

// No constructor and no destructor runs, so blocks may come and go before and after main.
static_assert(std::is_trivially_destructible_v<Shard>);
constinit std::array<Shard, 16> shards;

Shard& shard_of_this_thread() {
  static constinit std::atomic<size_t> threads = 0;
  thread_local const size_t number = threads++;
  return shards[number % shards.size()];
}

/// Takes a free block of another shard, or null: what one thread releases, another may reuse.
void* find_elsewhere(const SizeClass& size) {
  if (!caching) return nullptr;
  for (Shard& shard : shards)
    if (void* block = shard.give_up(size)) return block;
  return nullptr;
}

/// Takes a block from the system. A large one asks for huge pages: a table of the CPU then has one
/// entry for 2 MiB, not for 4 KiB.
void* aligned_block(size_t bytes) {
  constexpr size_t huge_page = size_t{2} << 20;
  bool large = bytes >= huge_page;
  void* block = nullptr;
  if (posix_memalign(&block, large ? huge_page : alignment, bytes) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  if (large) madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block;
}

void* allocate_from_system(size_t requested, const SizeClass& size) {
  auto bytes = caching ? static_cast<size_t>(size.block_bytes) : std::max<size_t>(1, requested);
  if (void* block = aligned_block(bytes)) return block;
  release_cached();
  if (void* block = aligned_block(bytes)) return block;
  fail("allocate: the system has no block of ", bytes, " bytes; ",
       allocator_counters().bytes_in_use, " are in use");
}

}  // namespace

void* allocate(size_t bytes) {
  require(bytes <= largest_request, "allocate: ", bytes, " bytes: expected at most ",
          largest_request);
  SizeClass size(bytes);
  Shard& home = shard_of_this_thread();
  if (void* block = home.hand_out(size)) return block;
  if (void* block = find_elsewhere(size)) return home.hand_out(block, size, false);
  return home.hand_out(allocate_from_system(bytes, size), size, true);
}

void release(void* block, size_t bytes) {
  shard_of_this_thread().take_back(block, SizeClass(bytes));
}

bool allocator_caches() { return caching; }

void release_cached() {
  for (Shard& shard : shards) shard.free_cached();
}

AllocatorCounters allocator_counters() {
  AllocatorCounters counters = {};
  for (Shard& shard : shards) shard.add_to(counters);
  counters.bytes_in_use = reported_bytes;
  counters.peak_bytes_in_use = peak_bytes;
  return counters;
}

void reset_peak() { peak_bytes = allocator_counters().bytes_in_use; }

}  // namespace shiftgrad
