#pragma once

// Parallel work whose results do not depend on the number of threads. It is cut into tiles by the
// size of the problem alone, never by the number of threads, and partial results are joined in a
// fixed tree. So a result has the same bits at 1, 2 or N threads.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace shiftgrad {

/// a / b, rounded up: the number of parts of at most b that a is cut into.
constexpr int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

/// The settings of the process that `initialize` may change.
struct Settings {
  /// Whether each OpenBLAS call uses one thread: the threads are ours, outside of it.
  bool single_threaded_blas = true;
  /// Whether OpenBLAS chooses its AVX-512 kernels on a CPU too new for it to recognise.
  bool recognise_new_cpus = true;
};

/// Changes settings of the process for good; nothing else in shiftgrad does. Call it at the start
/// of main, before other threads use BLAS; later calls, from any thread, do nothing. A program that
/// embeds shiftgrad and wants to manage BLAS itself may leave the call out, or switch parts of it
/// off. Every result is then still right, but two levels of threads are slow, and the bits of a
/// product may depend on the number of OpenBLAS' threads.
void initialize(const Settings& settings = {});

/// The number of threads that parallel work started here may use, this one included: what a
/// ThreadLimit says, or without one as many as the process has CPUs by its affinity, and at most
/// the whole CPUs of its cgroup's quota, as a container's `--cpus` sets it, but at least 1. From
/// the first work on, that quota limits all work of oneTBB in this process. It is 1 in the child of
/// a fork whose parent had worked in parallel: the threads stay in the parent, and results are the
/// same.
int thread_count();

/// Limits parallel work of the whole process, while it or a copy lives, to at most `threads`
/// threads, or fewer where an outer limit says so. It may be more than the quota of a cgroup.
/// Throws an Error if `threads` is less than 1. (PyTorch: torch.set_num_threads)
class ThreadLimit {
 public:
  /// Sets the limit.
  explicit ThreadLimit(int threads);

 private:
  std::shared_ptr<const void> limit_;
};

/// Runs `body` with parallel work on exactly `threads` threads, unless an outer limit is lower;
/// that may be more threads than there are CPUs. The child of a fork may have only one. Meanwhile
/// it is a ThreadLimit for the whole process. Throws an Error if `threads` is less than 1.
void with_threads(int threads, const std::function<void()>& body);

/// Does what `parallel_for` does, without its short cut for a single tile.
void run_tiles(int64_t tiles, const std::function<void(int64_t)>& body);

/// Calls body(tile) once for each tile 0 … tiles-1, on the threads of the caller's arena and in no
/// particular order, and returns when all are done. An exception from a body is thrown here. Calls
/// may be nested: while a thread waits, it takes on only work of its own call.
template <class Body>
void parallel_for(int64_t tiles, Body&& body) {
  if (tiles == 1)
    body(int64_t{0});
  else if (tiles > 1)
    run_tiles(tiles, [&body](int64_t tile) { body(tile); });
}

/// Calls body(begin, end) for 0 … count-1 cut into tiles of `grain` numbers; the last one may be
/// shorter.
template <class Body>
void parallel_ranges(int64_t count, int64_t grain, Body&& body) {
  parallel_for(divide_up(count, grain),
               [&](int64_t tile) { body(tile * grain, std::min((tile + 1) * grain, count)); });
}

/// Calls body(n) for 0 … count-1, of which `grain` neighbours are one tile.
template <class Body>
void parallel_each(int64_t count, int64_t grain, Body&& body) {
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) body(n);
  });
}

/// Which threads do a piece of work.
enum class Threads { one, all };

/// Calls body(n) for 0 … count-1, on the calling thread or on all.
template <class Body>
void for_each_task(Threads threads, int64_t count, Body&& body) {
  if (threads == Threads::all) return parallel_for(count, body);
  for (int64_t n = 0; n < count; ++n) body(n);
}

/// Computes join(tile(0), …, tile(tiles-1)) as a balanced tree of neighbours whose shape depends on
/// `tiles` only. Returns T{} for no tiles.
template <class T, class Tile, class Join>
T parallel_reduce(int64_t tiles, Tile&& tile, Join&& join) {
  if (tiles < 1) return T{};
  if (tiles == 1) return tile(int64_t{0});
  auto parts = std::make_unique<T[]>(static_cast<size_t>(tiles));
  parallel_for(tiles, [&](int64_t t) { parts[t] = tile(t); });
  for (int64_t step = 1; step < tiles; step *= 2)
    for (int64_t left = 0; left + step < tiles; left += 2 * step)
      parts[left] = join(std::move(parts[left]), std::move(parts[left + step]));
  return std::move(parts[0]);
}

}  // namespace shiftgrad
