#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>

#include "core/machine/parallel.h"

using namespace shiftgrad;

namespace {

/// Runs tiles on an arena of `threads` threads and returns how many took part. The tiles wait for
/// one another until all threads have come, a moment each: oneTBB may pass over a sleeping thread
/// until there is new work. On a machine that is busy with other things that takes some rounds, and
/// ten minutes say that they will never come.
size_t threads_seen(int threads) {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::set<std::thread::id> seen;
  auto all_came = [&] {
    std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
    return seen.size() >= static_cast<size_t>(threads);
  };
  auto wait_for_all = [&](int64_t) {
    auto latest = Clock::now() + std::chrono::milliseconds(5);
    while (!all_came() && Clock::now() < latest) std::this_thread::yield();
  };
  with_threads(threads, [&] {
    auto latest = Clock::now() + std::chrono::minutes(10);
    do {
      seen.clear();
      parallel_for(64, wait_for_all);
    } while (seen.size() < static_cast<size_t>(threads) && Clock::now() < latest);
  });
  return seen.size();
}

}  // namespace

TEST_CASE("with_threads: as many threads as wanted, also more than CPUs") {
  for (int threads : {1, 2, 4}) CHECK(threads_seen(threads) == static_cast<size_t>(threads));
}

TEST_CASE("ThreadLimit: holds while it lives") {
  int before = thread_count();
  {
    ThreadLimit one(1);
    CHECK(thread_count() == 1);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    parallel_for(100, [&](int64_t) {
      std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    CHECK(seen.size() == 1);
  }
  CHECK(thread_count() == before);
  with_threads(3, [] { CHECK(thread_count() == 3); });
}
