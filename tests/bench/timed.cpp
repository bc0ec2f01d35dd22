#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "core/machine/allocator.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

int64_t page_faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

}  // namespace

Result timed(int runs, const std::function<void()>& work) {
  for (int warm_up = 0; warm_up < 3; ++warm_up) work();
  Result result;
  result.milliseconds.reserve(static_cast<size_t>(runs));
  AllocatorCounters before = allocator_counters();
  int64_t faults_before = page_faults();
  reset_peak();
  for (int run = 0; run < runs; ++run) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
    result.milliseconds.push_back(passed.count());
  }
  AllocatorCounters after = allocator_counters();
  result.page_faults = page_faults() - faults_before;
  result.allocations = after.system_allocations - before.system_allocations;
  result.bytes = after.peak_bytes_in_use - before.bytes_in_use;
  std::sort(result.milliseconds.begin(), result.milliseconds.end());
  return result;
}

}  // namespace shiftgrad::bench
