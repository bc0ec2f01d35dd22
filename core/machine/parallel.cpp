#include "shiftgrad/core/machine/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/openblas.h"
#include "shiftgrad/core/machine/sanitizer.h"

namespace shiftgrad {

void initialize(const Settings& settings) {
  static std::once_flag done;
  std::call_once(done, [&] {
    if (settings.recognise_new_cpus) recognise_new_cpu();
    if (settings.single_threaded_blas) use_one_openblas_thread();
  });
}

int thread_count() {
  auto limit = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return std::min(static_cast<int>(limit), tbb::this_task_arena::max_concurrency());
}

struct ThreadLimit::Control {
  tbb::global_control limit;
};

ThreadLimit::ThreadLimit(int threads) {
  require(threads >= 1, "ThreadLimit: ", threads, " threads: expected at least 1");
  control_.reset(new Control{tbb::global_control(tbb::global_control::max_allowed_parallelism,
                                                 static_cast<size_t>(threads))});
}

ThreadLimit::~ThreadLimit() = default;

void with_threads(int threads, const std::function<void()>& body) {
  ThreadLimit limit(threads);
  tbb::task_arena(threads).execute(body);
}

namespace {

/// Runs the tiles on plain threads for ThreadSanitizer. It does not see how oneTBB, which is not
/// built for it, synchronises its threads, and would report races where there are none.
[[maybe_unused]] void run_on_plain_threads(int64_t tiles, TileBody body) {
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  auto work = [&] {
    try {
      for (int64_t tile = next++; tile < tiles; tile = next++) body(tile);
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int n = 1; n < thread_count(); ++n) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace

void run_tiles(int64_t tiles, TileBody body) {
  if constexpr (thread_sanitizer) return run_on_plain_threads(tiles, body);
  using Range = tbb::blocked_range<int64_t>;
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        Range(0, tiles),
        [&](const Range& range) {
          for (int64_t tile = range.begin(); tile < range.end(); ++tile) body(tile);
        },
        tbb::simple_partitioner{});
  });
}

}  // namespace shiftgrad
