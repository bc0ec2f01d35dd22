#include "core/walk.h"

#include <doctest/doctest.h>

#include <mutex>
#include <vector>

#include "tests/support/indices.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using Places = std::vector<std::array<int64_t, 2>>;

/// The positions in both layouts, index by index.
Places by_index(const Layout& a, const Layout& b) {
  Places result;
  for_each_index(a.shape, [&](const Dims& index) {
    result.push_back({position(a, index), position(b, index)});
  });
  return result;
}

/// The same from the runs of elements begin … end-1.
Places by_runs(const Walk<2>& walk, int64_t begin, int64_t end) {
  Places result;
  walk.range(begin, end, [&](const Walk<2>::Run& run) {
    CHECK(run.length > 0);
    for (int64_t n = 0; n < run.length; ++n)
      result.push_back({run.at[0] + n * run.step[0], run.at[1] + n * run.step[1]});
  });
  return result;
}

/// Returns the positions of the elements begin … end-1, visited one by one.
Places by_elements(const Walk<2>& walk, int64_t begin, int64_t end) {
  Places result;
  walk.each(begin, end, [&](const auto& at) { result.push_back(at); });
  return result;
}

const Layout cube = Layout::contiguous({3, 4, 5});

/// Of one shape each.
const std::vector<std::array<Layout, 2>> pairs = {
    {cube, cube},
    {cube, Layout::contiguous({5, 4, 3}).permute({2, 1, 0})},
    {cube, Layout::contiguous({4, 3, 5}).permute({1, 0, 2})},
    {Layout::contiguous({7, 4, 5}).slice(0, 1, 7, 2), cube.flip(1)},
    {Layout::contiguous({3, 4, 9}).slice(2, 3, 8), cube},
    {Layout::contiguous({4, 1}).expand({3, 4, 5}), cube},
    {Layout::contiguous({1}).expand({3, 4, 5}), cube.flip(2)},
    {Layout::contiguous({3, 1, 2}), Layout::contiguous({2, 1, 3}).permute({2, 1, 0})},
    {Layout::contiguous({}), Layout::contiguous({})},
    {Layout::contiguous({1, 1}), Layout::contiguous({9, 9}).slice(0, 4, 5).slice(1, 4, 5)},
    {Layout::contiguous({3, 0}), Layout::contiguous({0, 3}).permute({1, 0})},
};

}  // namespace

TEST_CASE("a walk visits the positions of every index in row-major order") {
  for (const auto& pair : pairs) {
    const Layout &a = pair[0], &b = pair[1];
    CAPTURE(a.shape);
    CAPTURE(a.strides);
    CAPTURE(b.strides);
    Walk<2> walk({&a, &b});
    CHECK(walk.count() == a.count());
    CHECK(by_runs(walk, 0, walk.count()) == by_index(a, b));
    CHECK(by_elements(walk, 0, walk.count()) == by_index(a, b));
  }
}

TEST_CASE("a part of a walk visits that part") {
  for (const auto& pair : pairs) {
    const Layout &a = pair[0], &b = pair[1];
    CAPTURE(a.strides);
    CAPTURE(b.strides);
    Walk<2> walk({&a, &b});
    Places all = by_index(a, b);
    for (int64_t begin = 0; begin <= walk.count(); ++begin)
      for (int64_t end : {begin, begin + 1, begin + 7, walk.count()})
        if (end <= walk.count()) {
          Places part(all.begin() + begin, all.begin() + end);
          CHECK(by_runs(walk, begin, end) == part);
          CHECK(by_elements(walk, begin, end) == part);
        }
  }
}

TEST_CASE("axes that follow on from one another become one run") {
  auto runs = [](const Layout& a, const Layout& b) {
    int count = 0;
    Walk<2> walk({&a, &b});
    walk.range(0, walk.count(), [&](const auto&) { ++count; });
    return count;
  };
  CHECK(runs(cube, cube) == 1);
  CHECK(runs(cube.slice(0, 1, 3), cube.slice(0, 0, 2)) == 1);
  CHECK(runs(cube.slice(2, 0, 3), Layout::contiguous({3, 4, 3})) == 12);
  CHECK(runs(cube.slice(1, 0, 2), Layout::contiguous({3, 2, 5})) == 3);
  CHECK(runs(Layout::contiguous({1}).expand({3, 4, 5}), cube) == 1);
  CHECK(runs(Layout::contiguous({3, 1, 1}).expand({3, 4, 5}), cube) == 3);
}

TEST_CASE("the tiles of a parallel walk make up the whole") {
  Layout a = Layout::contiguous({300, 211}), b = Layout::contiguous({211, 300}).permute({1, 0});
  std::vector<int> visits(static_cast<size_t>(a.count()));
  std::mutex mutex;
  Walk<2>({&a, &b}).parallel([&](const Walk<2>::Run& run) {
    std::lock_guard lock(mutex);
    for (int64_t n = 0; n < run.length; ++n) {
      int64_t at = run.at[0] + n * run.step[0], turned = run.at[1] + n * run.step[1];
      if (turned == at % 211 * 300 + at / 211) ++visits[static_cast<size_t>(at)];
    }
  });
  CHECK(visits == std::vector<int>(visits.size(), 1));
}
