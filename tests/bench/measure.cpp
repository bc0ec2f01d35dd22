#include "tests/bench/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "shiftgrad/core/machine/allocator.h"
#include "shiftgrad/core/machine/blas.h"

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

double product_flops(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

double sgemm_peak() {
  constexpr int64_t n = 1024;
  Tensor a = Tensor::full({n, n}, 1), b = Tensor::full({n, n}, 1), c = Tensor::empty({n, n});
  auto view = [](const Tensor& x) { return ConstMatrix::row_major(x.data(), n, n); };
  Result result = timed(20, [&] {
    parallel_gemm(1, view(a), view(b), 0, Matrix::row_major(c.mutable_data(), n, n));
  });
  return product_flops(n, n, n) / result.milliseconds.front() * 1e-6;
}

}  // namespace shiftgrad::bench
