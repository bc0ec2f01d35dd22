// What holds when products round their operands to bfloat16.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <utility>

#include "core/machine/packed_product.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "nn/state_dict.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "tests/support/in_bfloat16.h"
#include "tests/support/products.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;

namespace {

struct TrainedSteps {
  std::vector<double> losses;
  std::map<std::string, StoredTensor> weights;

  bool operator==(const TrainedSteps&) const = default;
};

/// Trains for 20 steps; with `interrupted`, a second trainer takes over after that many.
TrainedSteps trained(LanguageModelConfig model_config, const TrainerConfig& config,
                     int64_t interrupted = 0) {
  model_config.d_model = 64;
  model_config.d_inner = 160;
  model_config.dropout = 0.1;
  std::vector<int32_t> text = random_text(500, 7);
  LanguageModel first = new_model(model_config), second = new_model(model_config);
  Trainer trainer(first, text, text, config), successor(second, text, text, config);
  TrainedSteps outcome;
  for (int64_t n = 0; n < 20; ++n) {
    if (interrupted > 0 && n == interrupted) {
      load_state_dict(second, state_dict(first), "test");
      successor.resume(trainer.saved(), "test");
    }
    bool late = interrupted > 0 && n >= interrupted;
    outcome.losses.push_back((late ? successor : trainer).step().loss);
  }
  outcome.weights = state_dict(interrupted > 0 ? second : first);
  return outcome;
}

std::vector<float> numbers(int64_t count, uint64_t seed) {
  Random random{seed};
  std::vector<float> list;
  for (int64_t n = 0; n < count; ++n) list.push_back(float(2 * random.uniform() - 1));
  return list;
}

}  // namespace

TEST_CASE("product precision: float32 unless another is chosen, by its name") {
  CHECK(product_precision() == Precision::float32);
  set_product_precision(value_named<Precision>("bfloat16"));
  CHECK(product_precision() == Precision::bfloat16);
  set_product_precision(value_named<Precision>("float32"));
}

TEST_CASE("product precision: gemm of every size has the bits of a bfloat16 product") {
  for (auto [m, k, n] : {std::array<int64_t, 3>{1, 40, 50},
                         {50, 40, 1},
                         {4, 33, 50},
                         {70, 90, 80},
                         {300, 200, 100}}) {
    std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
    auto view = [](std::vector<float>& memory, int64_t rows, int64_t columns) {
      return Matrix::row_major(memory.data(), rows, columns);
    };
    for (auto [function, rounding] :
         {std::pair(test::serial_gemm, test::serial_rounded_gemm),
          std::pair(test::parallel_gemm, test::parallel_rounded_gemm),
          std::pair(test::serial_packed_gemm, test::serial_rounded_gemm),
          std::pair(test::parallel_packed_gemm, test::parallel_rounded_gemm)}) {
      std::vector<float> c(size_t(m * n)), expected = c, exact = c;
      rounding(1, view(a, m, k), view(b, k, n), 0, view(expected, m, n));
      function(1, view(a, m, k), view(b, k, n), 0, view(exact, m, n));
      InBfloat16 rounds;
      function(1, view(a, m, k), view(b, k, n), 0, view(c, m, n));
      CHECK(c == expected);
      CHECK(c != exact);
    }
  }
}

TEST_CASE("product precision: a product and its gradients are within 2^-8 of the factors' sizes") {
  constexpr int64_t m = 37, k = 65, n = 41;
  auto leaf = [](Dims shape, uint64_t seed) {
    Tensor tensor = Tensor::from(shape, numbers(shape[0] * shape[1], seed));
    return tensor.require_gradient();
  };
  struct Found {
    Tensor a, b, c;
  };
  Tensor weights = Tensor::from({m, n}, numbers(m * n, 3));
  auto found = [&] {
    Found result{leaf({m, k}, 1), leaf({k, n}, 2), {}};
    Tape tape;
    result.c = matmul(result.a, result.b);
    tape.backward(sum(result.c * weights));
    return result;
  };
  Found exact = found();
  InBfloat16 rounds;
  Found rounded = found();
  // Both factors are rounded by up to 2^-9 of themselves; sums in float differ by far less.
  double bound = std::ldexp(1.01, -8);
  auto check = [&](const float* value, const float* other, int64_t rows, int64_t columns,
                   int64_t depth, auto left, auto right) {
    double distance = 0, largest = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        double sizes = 0, off = std::abs(double(value[row * columns + column]) -
                                         double(other[row * columns + column]));
        for (int64_t d = 0; d < depth; ++d)
          sizes += std::abs(double(left(row, d)) * double(right(d, column)));
        distance += off;
        largest = std::max(largest, off / sizes);
      }
    CHECK(largest <= bound);
    CHECK(distance > 0);
  };
  const float *a = exact.a.data(), *b = exact.b.data(), *dc = weights.data();
  check(
      exact.c.data(), rounded.c.data(), m, n, k, [&](auto i, auto j) { return a[i * k + j]; },
      [&](auto i, auto j) { return b[i * n + j]; });
  Tensor da = exact.a.gradient(), other_da = rounded.a.gradient();
  check(
      da.data(), other_da.data(), m, k, n, [&](auto i, auto j) { return dc[i * n + j]; },
      [&](auto i, auto j) { return b[j * n + i]; });
  Tensor db = exact.b.gradient(), other_db = rounded.b.gradient();
  check(
      db.data(), other_db.data(), k, n, m, [&](auto i, auto j) { return a[j * k + i]; },
      [&](auto i, auto j) { return dc[i * n + j]; });
}

TEST_CASE(
    "product precision: in bfloat16, 1, 2 and 4 threads give the same bits, and so does a resumed "
    "run") {
  for (bool fast : {true, false}) {
    allow_fast_bfloat16_products(fast);
    InBfloat16 rounds;
    for (auto [model, config] : {std::pair(small_transformer_xl(), streams(8)),
                                 std::pair(small_transformer(8), blocks())}) {
      TrainedSteps whole = trained(model, config);
      for (int threads : {1, 2, 4}) {
        ThreadLimit limit(threads);
        CHECK(trained(model, config) == whole);
        CHECK(trained(model, config, 9).weights == whole.weights);
        CHECK(trained(model, config, 9).losses == whole.losses);
      }
      set_product_precision(Precision::float32);
      CHECK(trained(model, config).losses != whole.losses);
      set_product_precision(Precision::bfloat16);
    }
  }
  allow_fast_bfloat16_products(true);
}
