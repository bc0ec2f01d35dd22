#include "core/machine/parallel.h"

#include <pthread.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/machine/host_threads.h"
#include "core/machine/limits.h"
#include "core/machine/openblas.h"
#include "core/machine/sanitizer.h"
#include "core/range.h"
#include "core/machine/spin_lock.h"

namespace shiftgrad {

void initialize(const Settings& settings) {
  static std::once_flag done;
  std::call_once(done, [&] {
    if (settings.recognise_new_cpus) recognise_new_cpu();
    if (settings.single_threaded_blas) use_one_openblas_thread();
  });
}

namespace {

/// Whether oneTBB has had work of ours, and whether this process is the child of one where it had:
/// its threads stay in the parent, and its locks as the fork found them. All work is then the
/// calling thread's.
std::atomic<bool> tbb_has_worked = false, is_alone = false;

/// The threads of whoever hosts the library, or null for oneTBB's.
std::atomic<ParallelRegion> host_region = nullptr;

[[maybe_unused]] const int forks_are_watched = pthread_atfork(nullptr, nullptr, [] {
  host_region = nullptr;
  if (tbb_has_worked) is_alone = true;
});

void note_work_of_tbb() {
  if (!tbb_has_worked.load(std::memory_order_relaxed)) tbb_has_worked = true;
}

using Control = tbb::global_control;

Control* new_control(int threads) {
  return new Control(Control::max_allowed_parallelism, static_cast<size_t>(threads));
}

/// Whole CPUs' worth of the quota of this process' cgroup, at least 1; 0 where that is no limit.
int threads_of_quota() {
  std::optional<double> cpus = cgroup_limits().cpus;
  if (!cpus || *cpus >= tbb::info::default_concurrency()) return 0;
  return std::max(1, static_cast<int>(*cpus));
}

/// The limits that hold: those of each ThreadLimit, or while there are none the quota, which oneTBB
/// does not look at.
struct Limits {
  SpinLock spin_lock;
  int64_t set = 0;
  std::optional<int> quota;  // nothing until it was read
  Control* by_quota = nullptr;
  std::atomic<bool> has_begun = false;

  void lock() { spin_lock.lock(); }
  void unlock() { spin_lock.unlock(); }

  /// Makes the quota hold as long as nobody has set a limit.
  void choose() {
    if (!quota) quota = threads_of_quota();
    bool holds = set == 0 && *quota > 0;
    if (holds && !by_quota) by_quota = new_control(*quota);
    if (!holds) delete std::exchange(by_quota, nullptr);
    has_begun = true;
  }

  /// Does so before the first work.
  void begin() {
    if (has_begun.load(std::memory_order_acquire)) return;
    std::lock_guard guard(*this);
    choose();
  }
};
constinit Limits limits;
[[maybe_unused]] const bool forks_hold_limits = hold_over_forks<limits>();

}  // namespace

int thread_count() {
  if (is_alone) return 1;
  limits.begin();
  auto limit = Control::active_value(Control::max_allowed_parallelism);
  return std::min(static_cast<int>(limit), tbb::this_task_arena::max_concurrency());
}

ThreadLimit::ThreadLimit(int threads) {
  require(threads >= 1, "ThreadLimit: ", threads, " threads: expected at least 1");
  if (is_alone) return;
  std::lock_guard guard(limits);
  ++limits.set;
  limits.choose();
  limit_ = std::shared_ptr<Control>(new_control(threads), [](Control* control) {
    if (is_alone) return;
    std::lock_guard ending(limits);
    delete control;
    --limits.set;
    limits.choose();
  });
}

void with_threads(int threads, const std::function<void()>& body) {
  ThreadLimit limit(threads);
  constexpr auto most = static_cast<int>(range::thread_count.greatest);
  require(threads <= most, "with_threads: ", threads, " threads: expected at most ", most);
  if (is_alone) return body();
  note_work_of_tbb();
  tbb::task_arena(threads).execute(body);
}

namespace {

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

void use_host_threads(ParallelRegion region) { host_region = region; }

void run_tiles(int64_t tiles, const std::function<void(int64_t)>& body) {
  if (is_alone) {
    for (int64_t tile = 0; tile < tiles; ++tile) body(tile);
    return;
  }
  if (ParallelRegion region = host_region) return run_in_region(region, tiles, body);
  if constexpr (thread_sanitizer) return run_in_region(plain_threads, tiles, body);
  limits.begin();
  note_work_of_tbb();
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
