#include "core/machine/host_threads.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/machine/parallel.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

std::atomic<int> regions = 0;

void region_of_plain_threads(void (*work)(void*), void* data, unsigned threads, unsigned) {
  ++regions;
  std::vector<std::thread> others;
  for (unsigned n = 1; n < threads; ++n) others.emplace_back(work, data);
  work(data);
  for (std::thread& other : others) other.join();
}

/// Runs loops in regions of plain threads, while it lives.
struct Host {
  Host() {
    regions = 0;
    use_host_threads(region_of_plain_threads);
  }
  ~Host() { use_host_threads(nullptr); }
};

}  // namespace

TEST_CASE("host threads: each tile runs once, in a region of the host") {
  Host host;
  std::vector<std::atomic<int>> runs(1000);
  with_threads(
      3, [&] { parallel_for(1000, [&](int64_t tile) { ++runs.at(static_cast<size_t>(tile)); }); });
  for (const std::atomic<int>& times : runs) REQUIRE(times == 1);
  CHECK(regions == 1);
}

TEST_CASE("host threads: a loop of one thread needs no region, and loops may be nested") {
  Host host;
  std::atomic<int> inner = 0;
  auto nested = [&] {
    parallel_for(4, [&](int64_t) { parallel_for(5, [&](int64_t) { ++inner; }); });
  };
  with_threads(1, nested);
  CHECK(inner == 20);
  CHECK(regions == 0);
  with_threads(2, nested);
  CHECK(inner == 40);
}

TEST_CASE("host threads: an exception comes out") {
  Host host;
  auto run = [] {
    with_threads(2, [] {
      parallel_for(100, [](int64_t tile) {
        if (tile == 7) fail("tile 7");
      });
    });
  };
  CHECK(refusal(run) == "tile 7");
}

TEST_CASE("host threads: null and a fork bring our own threads back") {
  auto regions_of_a_loop = [] {
    int before = regions;
    with_threads(2, [] { parallel_for(4, [](int64_t) {}); });
    return regions - before;
  };
  {
    Host host;
    CHECK(regions_of_a_loop() == 1);
    pid_t child = fork();
    if (child == 0) _exit(regions_of_a_loop());
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(regions_of_a_loop() == 1);
  }
  CHECK(regions_of_a_loop() == 0);
}
