#include "core/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <mutex>

#include "core/errors.h"
#include "core/openblas.h"

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

void run_tiles(int64_t tiles, TileBody body) {
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
