#include "core/machine/system_memory.h"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "core/machine/sanitizer.h"

namespace shiftgrad {

namespace {

/// Returns null where the C library has no such block.
void* from_library(size_t bytes) {
  constexpr size_t alignment = 64;
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
}

}  // namespace

#ifdef __linux__

namespace {

/// A sanitizer has to see every block, and where it ends.
constexpr bool maps = !address_sanitizer && !thread_sanitizer;
constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t least_mapped = size_t{64} << 10;
/// What is mapped at once for blocks that are smaller than a huge page.
constexpr size_t shared_bytes = 16 * huge_page;

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// Gives whole pages back. Where a process has no room for one more hole, it keeps the addresses.
void unmap(std::byte* first, size_t bytes) {
  if (bytes > 0 && munmap(first, bytes) != 0) madvise(first, bytes, MADV_DONTNEED);
}

/// Maps whole pages from where a huge page may begin.
std::byte* map(size_t bytes) {
  void* mapped =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const size_t before = -reinterpret_cast<uintptr_t>(mapped) % huge_page;
  auto* first = static_cast<std::byte*>(mapped) + before;
  unmap(first - before, before);
  unmap(first + bytes, huge_page - before);
  madvise(first, bytes, MADV_HUGEPAGE);
  return first;
}

/// What no block has yet of the last pages that were mapped for several.
struct Rest {
  std::byte* first = nullptr;
  size_t bytes = 0;
};
constinit Rest rest;

/// Takes whole pages out of those that blocks share.
std::byte* map_shared(size_t bytes) {
  if (rest.bytes < bytes) {
    std::byte* more = map(shared_bytes);
    if (!more) return map(bytes);
    unmap(rest.first, rest.bytes);
    rest = {more, shared_bytes};
  }
  rest.bytes -= bytes;
  return std::exchange(rest.first, rest.first + bytes);
}

}  // namespace

void* take_from_system(size_t bytes) {
  if (!maps || bytes < least_mapped) return from_library(bytes);
  const size_t pages = whole_pages(bytes);
  return pages < huge_page ? map_shared(pages) : map(pages);
}

void return_to_system(void* block, size_t bytes) {
  if (!maps || bytes < least_mapped) return std::free(block);
  unmap(static_cast<std::byte*>(block), whole_pages(bytes));
}

#else

void* take_from_system(size_t bytes) { return from_library(bytes); }

void return_to_system(void* block, size_t) { std::free(block); }

#endif

}  // namespace shiftgrad
