// What stands in for oneTBB and OpenBLAS in a build without them: all work runs on the calling
// thread, tile by tile.

#include "core/errors.h"
#include "core/machine/host_threads.h"
#include "core/machine/openblas.h"
#include "core/machine/parallel.h"

namespace shiftgrad {

void initialize(const Settings&) {}

int thread_count() { return 1; }

ThreadLimit::ThreadLimit(int threads) {
  require(threads >= 1, "ThreadLimit: ", threads, " threads: expected at least 1");
}

void with_threads(int threads, const std::function<void()>& body) {
  ThreadLimit limit(threads);
  body();
}

void use_host_threads(ParallelRegion) {}

void run_tiles(int64_t tiles, const std::function<void(int64_t)>& body) {
  for (int64_t tile = 0; tile < tiles; ++tile) body(tile);
}

std::optional<std::string> openblas_complaint() { return std::nullopt; }

bool panels_beat_openblas() { return true; }

std::string openblas_core() { return "none"; }

}  // namespace shiftgrad
