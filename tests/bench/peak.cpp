// The peaks. A multiply-add loop keeps its sums and factors in registers, so nothing but the
// multiply-add units limits it. A multiply-add takes about 4 cycles and at most two begin in a
// cycle: 8 sums that do not wait for each other keep the units busy, and 12 fit in every register
// file.

#include "tests/bench/peak.h"

#ifdef __x86_64__
#include <immintrin.h>

#include "core/machine/amx_tiles.h"
#endif

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <utility>

#include "core/machine/kernels.h"
#include "core/machine/openblas.h"
#include "core/machine/parallel.h"
#include "core/machine/product.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

constexpr int sums = 12;
constexpr int64_t steps = 300000;

/// A loop of `steps` times `sums` multiply-adds. It returns a number made of all sums, so that no
/// compiler leaves them out.
using Loop = float (*)(float factor);

#ifdef __x86_64__

[[gnu::target("avx2,fma")]] float loop_of_8_floats(float factor) {
  __m256 x = _mm256_set1_ps(factor), sum[sums];
  for (__m256& s : sum) s = x;
  for (int64_t step = 0; step < steps; ++step)
    for (__m256& s : sum) s = _mm256_fmadd_ps(x, x, s);
  for (const __m256& s : sum) x = _mm256_add_ps(x, s);
  return _mm256_cvtss_f32(x);
}

[[gnu::target("avx512f")]] float loop_of_16_floats(float factor) {
  __m512 x = _mm512_set1_ps(factor), sum[sums];
  for (__m512& s : sum) s = x;
  for (int64_t step = 0; step < steps; ++step)
    for (__m512& s : sum) s = _mm512_fmadd_ps(x, x, s);
  for (const __m512& s : sum) x = _mm512_add_ps(x, s);
  return _mm512_cvtss_f32(x);
}

[[gnu::target("avx512f,avx512bf16")]] float loop_of_16_pairs(float factor) {
  __m512 x = _mm512_set1_ps(factor), sum[sums];
  __m512bh pairs = _mm512_cvtne2ps_pbh(x, x);
  for (__m512& s : sum) s = x;
  for (int64_t step = 0; step < steps; ++step)
    for (__m512& s : sum) s = _mm512_dpbf16_ps(s, pairs, pairs);
  for (const __m512& s : sum) x = _mm512_add_ps(x, s);
  return _mm512_cvtss_f32(x);
}

/// The multiply-adds of numbers in the time of which one of tiles is made, about.
constexpr int64_t tile_time = 32;

/// Adds to 4 tiles, which keep the unit busy: a multiply-add takes 52 cycles, and one begins every
/// 16. There are fewer of them, so that the loop takes as long as others.
FOR_BFLOAT16 float loop_of_tiles(float factor) {
  amx::shape_tiles();
  amx::clear<4>();
  amx::clear<5>();
  for (int64_t step = 0; step < steps * sums / tile_time / 4; ++step) {
    amx::multiply_add<0, 4, 5>();
    amx::multiply_add<1, 4, 5>();
    amx::multiply_add<2, 4, 5>();
    amx::multiply_add<3, 4, 5>();
  }
  return factor;
}

#endif

/// Returns the GF/s of a loop that does `flops` in each of its multiply-adds, on all threads.
[[maybe_unused]] double gflops_of_loop(Loop loop, double flops) {
  int threads = thread_count();
  volatile float factor = 0.5;
  std::atomic<float> kept;
  Result result = timed(100, [&] { parallel_for(threads, [&](int64_t) { kept = loop(factor); }); });
  return threads * steps * sums * flops / result.milliseconds.front() * 1e-6;
}

double gflops_of_floats() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return gflops_of_loop(loop_of_16_floats, 2 * 16);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return gflops_of_loop(loop_of_8_floats, 2 * 8);
#endif
  return 0;
}

double gflops_of_pairs() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512bf16")) return gflops_of_loop(loop_of_16_pairs, 2 * 32);
#endif
  return 0;
}

double gflops_of_tiles() {
#ifdef __x86_64__
  if (amx_kernel()) return gflops_of_loop(loop_of_tiles, 2.0 * 16 * 16 * 32 / tile_time);
#endif
  return 0;
}

double gflops_of_sgemm() {
  constexpr int64_t n = 1024;
  Tensor a = Tensor::full({n, n}, 1), b = Tensor::full({n, n}, 1), c = Tensor::empty({n, n});
  auto view = [](const Tensor& x) { return ConstMatrix::row_major(x.data(), n, n); };
  Result result = timed(20, [&] {
    gemm(1, view(a), view(b), 0, Matrix::row_major(c.mutable_data(), n, n), Threads::all,
         Precision::float32);
  });
  return product_flops(n, n, n) / result.milliseconds.front() * 1e-6;
}

Peak measured(std::string name, const std::function<double()>& gflops) {
  double all_threads = gflops();
  ThreadLimit one(1);
  return {std::move(name), gflops(), all_threads};
}

}  // namespace

double Peaks::limit(Precision precision) const {
  const double of_floats = floats.all_threads > 0 ? floats.all_threads : sgemm.all_threads;
  if (precision == Precision::float32) return of_floats;
  return std::max({of_floats, bfloat16_pairs.all_threads, bfloat16_tiles.all_threads});
}

std::vector<Peak> Peaks::list() const {
  std::vector<Peak> peaks = {floats, bfloat16_pairs, bfloat16_tiles, sgemm};
  std::erase_if(peaks, [](const Peak& peak) { return peak.all_threads == 0; });
  return peaks;
}

Peaks measure_peaks() {
  return {measured("multiply-adds of floats", gflops_of_floats),
          measured("multiply-adds of bfloat16 pairs", gflops_of_pairs),
          measured("multiply-adds of bfloat16 tiles", gflops_of_tiles),
          measured("sgemm of 1024, OpenBLAS " + openblas_core(), gflops_of_sgemm)};
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, name = "unknown CPU", family, model;
  auto value_of = [&](const std::string& key, std::string& value) {
    if (line.starts_with(key + '\t')) value = line.substr(line.find(": ") + 2);
  };
  // An empty line ends the first CPU.
  while (std::getline(file, line) && !line.empty()) {
    value_of("model name", name);
    value_of("cpu family", family);
    value_of("model", model);
  }
  return family.empty() ? name : name + ", family " + family + ", model " + model;
}

}  // namespace shiftgrad::bench
