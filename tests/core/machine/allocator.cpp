#include "core/machine/allocator.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "core/random.h"
#include "tests/support/refusal.h"
#include "tests/support/resident.h"

using namespace shiftgrad;

namespace {

/// A block that is released with its owner.
struct Block {
  explicit Block(size_t size) : bytes(size), memory(allocate(size)) {}
  ~Block() { release(memory, bytes); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  size_t bytes;
  void* memory;
};

// Released after main: a program that this breaks does not end well.
Block static_block(1000);

int64_t in_use() { return allocator_counters().bytes_in_use; }

}  // namespace

TEST_CASE("allocate: aligned blocks of which every byte can be written") {
  std::vector<std::unique_ptr<Block>> blocks;
  for (size_t bytes = 0; bytes < 1000; ++bytes) {
    blocks.push_back(std::make_unique<Block>(bytes));
    REQUIRE(reinterpret_cast<uintptr_t>(blocks.back()->memory) % 64 == 0);
    std::memset(blocks.back()->memory, static_cast<int>(bytes % 251), bytes);
  }
  for (const auto& block : blocks) {
    auto* first = static_cast<unsigned char*>(block->memory);
    REQUIRE(std::count(first, first + block->bytes, block->bytes % 251) ==
            static_cast<int64_t>(block->bytes));
  }
}

#ifdef __linux__
TEST_CASE("allocate: large blocks begin where a huge page may") {
  if (!allocator_caches()) return;
  constexpr size_t huge_page = size_t{2} << 20;
  for (size_t bytes : {huge_page, huge_page + 1, 5 * huge_page / 2, 7 * huge_page}) {
    Block block(bytes);
    CHECK(reinterpret_cast<uintptr_t>(block.memory) % huge_page == 0);
    std::memset(block.memory, 1, bytes);
  }
}
#endif

TEST_CASE("CachedVector: has its elements in a block of the allocator, and gives it back") {
  int64_t before = in_use();
  {
    CachedVector<double> elements(1000, 1.5);
    CHECK(in_use() - before >= 8000);
    elements.resize(3000, 2.5);
    CHECK(in_use() - before >= 24000);
    CHECK(std::count(elements.begin(), elements.end(), 1.5) == 1000);
    CHECK(std::count(elements.begin(), elements.end(), 2.5) == 2000);
    CachedVector<double> other = std::move(elements);
    CHECK(other.size() == 3000);
  }
  CHECK(in_use() == before);
}

TEST_CASE("CachedArray: has a block of the allocator, and gives it back once") {
  int64_t before = in_use();
  {
    CachedArray<double> elements(1000), none;
    CHECK(elements.count() == 1000);
    CHECK(reinterpret_cast<uintptr_t>(elements.data()) % 64 == 0);
    CHECK(in_use() - before >= 8000);
    CachedArray<double> other = std::move(elements);
    CHECK(in_use() - before < 16000);
    CHECK(none.count() == 0);
  }
  CHECK(in_use() == before);
  CHECK(refusal([] { CachedArray<double>(-1); }) == "allocate: -1 elements, expected fewer");
}

TEST_CASE("allocate: a new block is at most a sixteenth too large") {
  release_cached();
  auto check = [](size_t bytes) {
    int64_t before = in_use();
    Block block(bytes);
    auto size = static_cast<double>(in_use() - before);
    CAPTURE(bytes);
    REQUIRE(size >= static_cast<double>(bytes));
    REQUIRE(size <= 17.0 / 16 * static_cast<double>(bytes + 64));
  };
  for (size_t bytes = 0; bytes < 5000; ++bytes) check(bytes);
  for (size_t bytes = 5000; bytes < 50'000'000; bytes += bytes / 7) check(bytes);
}

TEST_CASE("allocate: a block ends for a sanitizer where the request does") {
  if (allocator_caches()) return;
  for (size_t bytes : {1, 63, 64, 65, 1000, 5'000'001}) {
    Block block(bytes);
    CHECK(malloc_usable_size(block.memory) == bytes);
  }
}

TEST_CASE("allocate: what cannot be had is an error") {
  constexpr size_t bytes = std::numeric_limits<size_t>::max();
  CHECK(refusal([] { allocate(bytes); }) ==
        (sizeof(size_t) == 8
             ? "allocate: 18446744073709551615 bytes: expected at most 70368744177664"
             : "allocate: 4294967295 bytes: expected at most 2147483647"));
}

TEST_CASE("release: blocks of all sizes are used again") {
  if (!allocator_caches()) return;
  for (size_t bytes : {0, 1, 64, 1000, 100'000, 3'000'000, 70'000'000}) {
    void* first = Block(bytes).memory;
    auto before = allocator_counters();
    for (int n = 0; n < 10; ++n) REQUIRE(Block(bytes).memory == first);
    auto after = allocator_counters();
    CHECK(after.calls - before.calls == 10);
    CHECK(after.system_allocations == before.system_allocations);
  }
}

TEST_CASE("release: a large block serves a request that is a third smaller, and is whole again") {
  if (!allocator_caches()) return;
  release_cached();
  constexpr size_t bytes = 12'000'000;
  void* first = Block(bytes).memory;
  auto before = allocator_counters();
  {
    Block part(bytes * 3 / 4), small(bytes / 2);
    CHECK(part.memory == first);
    CHECK(small.memory != first);
  }
  CHECK(Block(bytes).memory == first);
  auto after = allocator_counters();
  CHECK(after.bytes_in_use == before.bytes_in_use);
  CHECK(after.system_allocations == before.system_allocations + 1);
}

TEST_CASE("release: what one thread releases, another uses again") {
  if (!allocator_caches()) return;
  constexpr size_t bytes = 12'345'678;
  release_cached();
  void* first = nullptr;
  std::thread([&] { first = Block(bytes).memory; }).join();
  CHECK(Block(bytes).memory == first);
}

TEST_CASE("release: also when a thread ends") {
  int64_t before = in_use();
  std::thread([] { thread_local Block block(5000); }).join();
  CHECK(in_use() == before);
}

namespace {

/// Holds blocks of a step over `length` tokens, all at once, and writes each byte of them. All are
/// of one size, so a step of another length can use none of them. 2000 tokens take 320 MB, of which
/// a quarter is more than the 64 MB that may be kept in any case.
void step(size_t length) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (int n = 0; n < 32; ++n) {
    blocks.push_back(std::make_unique<Block>(length * 5000));
    std::memset(blocks.back()->memory, 1, blocks.back()->bytes);
  }
}

}  // namespace

TEST_CASE("release: steps of many lengths keep little more than the longest needs") {
  if (!allocator_caches()) return;
  [[maybe_unused]] NoHugePages small_pages;
  release_cached();
  reset_peak();
  step(2000);
  int64_t before = resident(), peak = allocator_counters().peak_bytes_in_use;
  for (size_t n = 0; n < 12; ++n) step(100 + n * 733 % 1901);
  AllocatorCounters after = allocator_counters();
  CHECK(after.bytes_in_use + after.bytes_cached <= peak / 4 * 5);
  CHECK(resident() - before <= peak);
}

TEST_CASE("release: a step that repeats takes nothing from the system") {
  if (!allocator_caches()) return;
  for (size_t length : {2000, 300}) step(length);
  AllocatorCounters before = allocator_counters();
  for (int n = 0; n < 5; ++n) step(300);
  CHECK(allocator_counters().system_allocations == before.system_allocations);
}

TEST_CASE("release_cached: keeps nothing") {
  { Block block(1'000'000); }
  CHECK((allocator_counters().bytes_cached >= 1'000'000) == allocator_caches());
  release_cached();
  CHECK(allocator_counters().bytes_cached == 0);
}

TEST_CASE("allocator_counters: in use, and at most in use") {
  auto start = allocator_counters();
  reset_peak();
  CHECK(allocator_counters().peak_bytes_in_use == start.bytes_in_use);
  { Block brief(1024); }
  CHECK(allocator_counters().peak_bytes_in_use == start.bytes_in_use + 1024);
  {
    Block small(256);
    CHECK(in_use() == start.bytes_in_use + 256);
    { Block large(1 << 20); }
    Block other(512);
    CHECK(in_use() == start.bytes_in_use + 256 + 512);
  }
  auto end = allocator_counters();
  CHECK(end.bytes_in_use == start.bytes_in_use);
  CHECK(end.peak_bytes_in_use == start.bytes_in_use + 256 + (1 << 20));
  CHECK(end.calls == start.calls + 4);
}

TEST_CASE("allocate: threads do not get each other's blocks") {
  int64_t before = in_use();
  auto work = [](uint64_t stream, int& mistakes) {
    Random random{1, stream};
    std::vector<std::unique_ptr<Block>> blocks(50);
    for (int n = 0; n < 20'000; ++n) {
      auto& block = blocks[static_cast<size_t>(random.below(50))];
      if (block) mistakes += *static_cast<uint64_t*>(block->memory) != stream;
      block = std::make_unique<Block>(8 + random.below(2000));
      *static_cast<uint64_t*>(block->memory) = stream;
    }
  };
  std::vector<int> mistakes(4);
  std::vector<std::thread> threads;
  for (size_t n = 0; n < mistakes.size(); ++n)
    threads.emplace_back(work, uint64_t{n}, std::ref(mistakes[n]));
  for (std::thread& thread : threads) thread.join();
  CHECK(mistakes == std::vector<int>(4));
  CHECK(in_use() == before);
}

TEST_CASE("fill_fresh_memory: every block is NaN, new or used before") {
  auto is_nan = [](double* x) { return std::isnan(x[0]) && std::isnan(x[99]); };
  auto filled = [&](size_t bytes) {
    Block block(bytes);
    auto* x = static_cast<double*>(block.memory);
    bool was_nan = is_nan(x);
    std::fill_n(x, 100, 7.);
    return was_nan;
  };
  fill_fresh_memory(true);
  CHECK(filled(800));
  CHECK(filled(800));
  fill_fresh_memory(false);
  filled(800);
  if (allocator_caches()) CHECK_FALSE(filled(800));
}
