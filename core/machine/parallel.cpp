#include "core/machine/parallel.h"

#include <pthread.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/errors.h"
#include "core/machine/host_threads.h"
#include "core/machine/openblas.h"
#include "core/machine/sanitizer.h"
#include "core/range.h"

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

ThreadLimit::ThreadLimit(int threads) {
  require(threads >= 1, "ThreadLimit: ", threads, " threads: expected at least 1");
  limit_ = std::make_shared<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                 static_cast<size_t>(threads));
}

void with_threads(int threads, const std::function<void()>& body) {
  ThreadLimit limit(threads);
  constexpr auto most = static_cast<int>(range::thread_count.greatest);
  require(threads <= most, "with_threads: ", threads, " threads: expected at most ", most);
  tbb::task_arena(threads).execute(body);
}

namespace {

std::atomic<ParallelRegion> host_region = nullptr;

/// Plain threads for ThreadSanitizer. It does not see how oneTBB, which is not built for it,
/// synchronises its threads, and would report races where there are none.
[[maybe_unused]] void plain_threads(void (*work)(void*), void* data, unsigned threads, unsigned) {
  std::vector<std::thread> others;
  for (unsigned n = 1; n < threads; ++n) others.emplace_back(work, data);
  work(data);
  for (std::thread& other : others) other.join();
}

/// Makes the threads of a region take one tile after the other.
void run_in_region(ParallelRegion region, int64_t tiles, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  std::function<void()> work = [&] {
    try {
      for (int64_t tile = next++; tile < tiles; tile = next++) body(tile);
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  };
  auto call = [](void* data) { (*static_cast<std::function<void()>*>(data))(); };
  int threads = thread_count();
  threads == 1 ? work() : region(call, &work, static_cast<unsigned>(threads), 0);
  if (error) std::rethrow_exception(error);
}

}  // namespace

void use_host_threads(ParallelRegion region) {
  static std::once_flag forks_are_watched;
  std::call_once(forks_are_watched,
                 [] { pthread_atfork(nullptr, nullptr, [] { host_region = nullptr; }); });
  host_region = region;
}

void run_tiles(int64_t tiles, const std::function<void(int64_t)>& body) {
  if (ParallelRegion region = host_region) return run_in_region(region, tiles, body);
  if constexpr (thread_sanitizer) return run_in_region(plain_threads, tiles, body);
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
