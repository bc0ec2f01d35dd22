#include "core/machine/parallel.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/refusal.h"

using namespace shiftgrad;

TEST_CASE("parallel_for: each tile runs once") {
  for (int64_t tiles : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> runs(1000);
    parallel_for(tiles, [&](int64_t tile) { ++runs.at(static_cast<size_t>(tile)); });
    for (size_t tile = 0; tile < runs.size(); ++tile)
      REQUIRE(runs[tile] == (static_cast<int64_t>(tile) < tiles));
  }
}

TEST_CASE("parallel_for: a single tile runs on the calling thread") {
  for (int n = 0; n < 100; ++n)
    parallel_for(1, [caller = std::this_thread::get_id()](int64_t) {
      REQUIRE(std::this_thread::get_id() == caller);
    });
}

TEST_CASE("parallel_for: an exception comes out") {
  for (int64_t tiles : {1, 100}) {
    auto run = [tiles] {
      parallel_for(tiles, [tiles](int64_t tile) {
        if (tile == tiles - 1) fail("the last tile");
      });
    };
    CHECK(refusal(run) == "the last tile");
  }
}

TEST_CASE("parallel_for: nested, a waiting thread takes no other tile of the outer call") {
  thread_local bool busy = false;
  std::atomic<int> intruders = 0, inner_tiles = 0;
  with_threads(4, [&] {
    parallel_for(40, [&](int64_t) {
      intruders += busy;
      busy = true;
      parallel_for(4, [&](int64_t) {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        ++inner_tiles;
      });
      busy = false;
    });
  });
  CHECK(intruders == 0);
  CHECK(inner_tiles == 160);
}

TEST_CASE("parallel_ranges: tiles of the grain, the last one shorter") {
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> ranges;
  parallel_ranges(10, 4, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    ranges.emplace(begin, end);
  });
  CHECK(ranges == std::set<std::pair<int64_t, int64_t>>{{0, 4}, {4, 8}, {8, 10}});
  parallel_ranges(0, 4, [](int64_t, int64_t) { FAIL_CHECK("there is nothing to do"); });
}

TEST_CASE("parallel_each: each number once") {
  std::vector<std::atomic<int>> calls(10);
  parallel_each(10, 4, [&](int64_t n) { ++calls[static_cast<size_t>(n)]; });
  for (const auto& count : calls) CHECK(count == 1);
  parallel_each(0, 4, [](int64_t) { FAIL_CHECK("there is nothing to do"); });
}

TEST_CASE("parallel_reduce: a fixed tree of neighbours") {
  auto tree = [](int64_t tiles) {
    return parallel_reduce<std::string>(
        tiles, [](int64_t tile) { return std::string(1, static_cast<char>('a' + tile)); },
        [](const std::string& left, const std::string& right) { return "(" + left + right + ")"; });
  };
  CHECK(tree(0) == "");
  CHECK(tree(1) == "a");
  CHECK(tree(2) == "(ab)");
  CHECK(tree(5) == "(((ab)(cd))e)");
  CHECK(tree(7) == "(((ab)(cd))((ef)g))");
}

TEST_CASE("parallel_reduce: the same bits with any number of threads") {
  auto total = [](int threads) {
    float value = 0;
    with_threads(threads, [&] {
      value = parallel_reduce<float>(
          1000, [](int64_t tile) { return 1 / static_cast<float>(tile + 1); }, std::plus<float>());
    });
    return value;
  };
  float serial = total(1);
  CHECK(serial == doctest::Approx(7.485470860550345).epsilon(1e-6));
  for (int threads : {2, 4})
    for (int repeat = 0; repeat < 20; ++repeat) REQUIRE(total(threads) == serial);
}

TEST_CASE("ThreadLimit: at least one thread") {
  CHECK(refusal([] { ThreadLimit limit(0); }) == "ThreadLimit: 0 threads: expected at least 1");
  CHECK(refusal([] { with_threads(-1, [] {}); }) == "ThreadLimit: -1 threads: expected at least 1");
}
