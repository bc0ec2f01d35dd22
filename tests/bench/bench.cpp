// Times training steps of language models and prints, beside the milliseconds, which share of this
// machine's sgemm peak they reach. The peak is measured in the same run, on the same threads.
//
//     flops of a step = 3 · (2 · tokens · weights in products + attention's two or three products)
//
// three times the forward pass, the usual count: the backward pass makes two products of each.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "core/allocator.h"
#include "core/blas.h"
#include "core/parallel.h"
#include "optim/trainer.h"

using namespace shiftgrad;

namespace {

struct Case {
  const char* name;
  bool memory;  // Transformer-XL with as many remembered tokens as new ones, else a plain
                // transformer
  int64_t L, H, C, T, B;
};

constexpr Case cases[] = {
    {"transformer L4 H4 d128 T64 B12", false, 4, 4, 128, 64, 12},
    {"transformer L6 H6 d384 T256 B8", false, 6, 6, 384, 256, 8},
    {"transformer_xl L4 H4 d128 T64 M64 B12", true, 4, 4, 128, 64, 12},
    {"transformer_xl L4 H4 d256 T128 M128 B16", true, 4, 4, 256, 128, 16},
};

constexpr int64_t vocabulary = 96;

/// Milliseconds of each of `runs` calls, in increasing order, after some that are not counted.
std::vector<double> timed(int runs, const std::function<void()>& work) {
  for (int warm_up = 0; warm_up < 3; ++warm_up) work();
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
    times.push_back(passed.count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

/// GF/s of a large product.
double sgemm_peak() {
  constexpr int64_t n = 1024;
  Tensor a = Tensor::full({n, n}, 1), b = Tensor::full({n, n}, 1), c = Tensor::empty({n, n});
  auto view = [](const Tensor& x) { return ConstMatrix::row_major(x.data(), n, n); };
  std::vector<double> times = timed(20, [&] {
    parallel_gemm(1, view(a), view(b), 0, Matrix::row_major(c.mutable_data(), n, n));
  });
  return 2.0 * n * n * n / times.front() * 1e-6;
}

LanguageModelConfig model_config(const Case& c) {
  LanguageModelConfig config;
  config.vocab_size = vocabulary;
  config.d_model = c.C;
  config.n_layer = c.L;
  config.n_head = c.H;
  config.d_inner = 4 * c.C;
  config.activation = "gelu";
  config.tie_embedding = true;
  if (c.memory) {
    config.mixer = TransformerXLAttentionConfig{};
  } else {
    config.position = "learned";
    config.max_len = c.T;
  }
  return config;
}

double step_flops(const Case& c) {
  auto product = [](int64_t m, int64_t n, int64_t k) {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  };
  int64_t tokens = c.B * c.T, K = c.memory ? 2 * c.T : c.T, sources = c.B * K;
  double projections = product(tokens, 2 * c.C, c.C) + product(sources, 2 * c.C, c.C) +
                       (c.memory ? product(K, c.C, c.C) : 0);
  double attention = (c.memory ? 3 : 2) * product(tokens, K, c.C);
  double feed_forward = product(tokens, 8 * c.C, c.C);
  double layers = static_cast<double>(c.L) * (projections + attention + feed_forward);
  return 3 * (layers + product(tokens, vocabulary, c.C));
}

void run(const Case& c, int runs, double peak) {
  Random random{.seed = 1};
  std::vector<int32_t> text(400000);
  for (int32_t& token : text) token = static_cast<int32_t>(random.below(vocabulary));
  LanguageModel model(model_config(c), random);
  TrainerConfig config;
  config.batch_size = c.B;
  config.block_size = c.T;
  config.batches = c.memory ? "streams" : "blocks";
  config.mem_len = c.memory ? c.T : 0;
  Trainer trainer(model, text, text, config);
  trainer.step();
  trainer.step();
  int64_t before = allocator_counters().system_allocations;
  std::vector<double> times = timed(runs, [&] { trainer.step(); });
  int64_t system_allocations = allocator_counters().system_allocations - before;
  double median = times[times.size() / 2];
  std::printf("%-42s %8.2f %8.2f %8.2f %8.1f %7.0f%% %6ld\n", c.name, times.front(), median,
              times.back(), step_flops(c) / median * 1e-6,
              100 * step_flops(c) / median * 1e-6 / peak, static_cast<long>(system_allocations));
}

}  // namespace

int main(int count, char** arguments) {
  initialize();
  std::string only = count > 1 ? arguments[1] : "";
  int runs = count > 2 ? std::atoi(arguments[2]) : 20;
  double peak = sgemm_peak();
  std::printf("sgemm peak %.0f GF/s on %d threads\n", peak, thread_count());
  std::printf("%-42s %8s %8s %8s %8s %8s %6s\n", "training step", "min ms", "median", "max", "GF/s",
              "of peak", "allocs");
  for (const Case& c : cases)
    if (std::string(c.name).find(only) != std::string::npos) run(c, runs, peak);
}
