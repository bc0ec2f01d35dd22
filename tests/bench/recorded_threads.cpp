#include "tests/bench/recorded_threads.h"

#include <cxxabi.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <regex>
#include <typeinfo>
#include <utility>

#include "core/errors.h"
#include "core/machine/host_threads.h"
#include "core/machine/openblas.h"
#include "core/machine/parallel.h"

namespace shiftgrad {

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What is being recorded, null while nothing is or a tile runs, and when the calling thread's work
/// alone began.
Recording* recording = nullptr;
Clock::time_point alone_since;

}  // namespace

// It is "blas_product" of
// "shiftgrad::parallel_for<shiftgrad::f32::blas_product(float, …)::{lambda(long)#1}>(…)".
std::string Region::name() const {
  if (!body) return "the end";
  std::unique_ptr<char, decltype(&std::free)> whole(
      abi::__cxa_demangle(body->name(), nullptr, nullptr, nullptr), std::free);
  std::string text = whole ? whole.get() : body->name();
  std::smatch found;
  return std::regex_search(text, found, std::regex("::(\\w+(::\\w+)*)\\(")) ? found[1].str() : text;
}

double Region::work() const { return std::accumulate(tiles.begin(), tiles.end(), 0.0); }

Recording recorded(const std::function<void()>& work) {
  Recording result;
  recording = &result;
  alone_since = Clock::now();
  work();
  recording = nullptr;
  result.push_back({.alone = seconds_since(alone_since)});
  return result;
}

}  // namespace bench

void initialize(const Settings& settings) {
  if (settings.recognise_new_cpus) recognise_new_cpu();
  if (settings.single_threaded_blas) use_one_openblas_thread();
}

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
  using namespace bench;
  Recording* all = std::exchange(recording, nullptr);
  Region region;
  if (all) region = {&body.target_type(), seconds_since(alone_since)};
  region.tiles.reserve(static_cast<size_t>(tiles));
  for (int64_t tile = 0; tile < tiles; ++tile) {
    auto start = Clock::now();
    body(tile);
    region.tiles.push_back(seconds_since(start));
  }
  if (!all) return;
  all->push_back(std::move(region));
  recording = all;
  alone_since = Clock::now();
}

}  // namespace shiftgrad
