#include "core/machine/system_memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/machine/sanitizer.h"
#include "core/random.h"
#include "tests/support/resident.h"

using namespace shiftgrad;

namespace {

/// A block that is full of its mark.
struct Marked {
  size_t bytes;
  unsigned char mark;
  unsigned char* first = static_cast<unsigned char*>(take_from_system(bytes));

  void fill() const { std::memset(first, mark, bytes); }
  bool is_whole() const {
    return std::count(first, first + bytes, mark) == static_cast<int64_t>(bytes);
  }
  void give_back() const { return_to_system(first, bytes); }
};

constexpr size_t page = size_t{64} << 10, huge_page = size_t{2} << 20;

}  // namespace

TEST_CASE("take_from_system: blocks of all kinds are apart, also where others have gone") {
  const std::vector<size_t> sizes = {64,        1000,          page - 1,         page,
                                     page + 1,  3 * page,      huge_page - page, huge_page - 1,
                                     huge_page, huge_page + 1, 5 * huge_page};
  Random random{.seed = 1};
  std::vector<Marked> blocks;
  for (int n = 0; n < 300; ++n) {
    const auto size = sizes[static_cast<size_t>(random.below(static_cast<int64_t>(sizes.size())))];
    Marked& block = blocks.emplace_back(Marked{size, static_cast<unsigned char>(n % 251)});
    REQUIRE(block.first != nullptr);
    REQUIRE(reinterpret_cast<uintptr_t>(block.first) % 64 == 0);
    block.fill();
    if (n % 3 != 2) continue;
    const auto gone = blocks.begin() + random.below(static_cast<int64_t>(blocks.size()));
    REQUIRE(gone->is_whole());
    gone->give_back();
    blocks.erase(gone);
  }
  for (const Marked& block : blocks) {
    REQUIRE(block.is_whole());
    block.give_back();
  }
}

TEST_CASE("return_to_system: gives the pages back, of blocks that lie between others too") {
  if (address_sanitizer || thread_sanitizer) return;
  [[maybe_unused]] NoHugePages small_pages;
  constexpr size_t bytes = 5 * page, count = 400;
  std::vector<Marked> blocks;
  for (size_t n = 0; n < count; ++n) blocks.push_back({bytes, 1});
  for (const Marked& block : blocks) block.fill();
  const int64_t before = resident();
  for (size_t n = 0; n < count; n += 2) blocks[n].give_back();
  CHECK(before - resident() >= static_cast<int64_t>(count / 2 * bytes) / 10 * 9 * (before > 0));
  for (size_t n = 1; n < count; n += 2) {
    REQUIRE(blocks[n].is_whole());
    blocks[n].give_back();
  }
}

TEST_CASE("take_from_system: null where the system has no such block") {
  if (address_sanitizer || thread_sanitizer) return;
  CHECK(take_from_system(sizeof(size_t) == 8 ? size_t{1} << 60 : SIZE_MAX / 2) == nullptr);
}
