#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "core/machine/parallel.h"

using namespace shiftgrad;

TEST_CASE("one thread: limits may be set, and there is one thread") {
  CHECK(thread_count() == 1);
  ThreadLimit limit(3);
  CHECK(thread_count() == 1);
  with_threads(4, [] { CHECK(thread_count() == 1); });
}

TEST_CASE("one thread: tiles run in order") {
  std::vector<int64_t> order;
  parallel_for(4, [&](int64_t tile) { order.push_back(tile); });
  CHECK(order == std::vector<int64_t>{0, 1, 2, 3});
}
