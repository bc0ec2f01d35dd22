// examples/micro.cpp beside the library: with the same weights and text it has the same losses.
// (A test of its own name would include itself.)

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/tape.h"
#include "nn/models/language_model.h"
#include "ops/loss.h"
#include "optim/batches.h"
#include "optim/optimizer.h"
#include "tests/support/small_models.h"

// Here its `main` is a function like others, which has to say what it returns.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace micro {
#include "examples/micro.cpp"
}  // namespace micro
#pragma GCC diagnostic pop

using namespace shiftgrad;

namespace {

/// A tensor of random numbers around `mean`.
micro::Tensor random_tensor(const micro::Shape& shape, double mean = 0) {
  static Random random{.seed = 5};
  micro::Tensor x(shape);
  for (double& value : *x.values) value = mean + random.normal();
  return x;
}

/// Returns the largest difference between a gradient of Σ y · c, for y = `op`() and a random c, and
/// its difference quotient.
double gradient_error(const std::vector<micro::Tensor>& inputs,
                      const std::function<micro::Tensor()>& op) {
  for (const micro::Tensor& x : inputs) std::ranges::fill(*x.gradients, 0);
  micro::Tensor y = op(), c = random_tensor(y.shape);
  *y.gradients = *c.values;
  for (; !micro::tape.empty(); micro::tape.pop_back()) micro::tape.back()();
  auto value_at = [&](double& place, double value) {
    double before = std::exchange(place, value), total = 0;
    micro::Tensor moved = op();
    micro::tape.clear();
    for (size_t n = 0; n < c.values->size(); ++n) total += (*moved.values)[n] * (*c.values)[n];
    place = before;
    return total;
  };
  double worst = 0;
  for (const micro::Tensor& x : inputs)
    for (size_t n = 0; n < x.values->size(); ++n) {
      double &place = (*x.values)[n], here = place, step = 1e-5;
      double slope = (value_at(place, here + step) - value_at(place, here - step)) / (2 * step);
      worst = std::max(worst, std::abs(slope - (*x.gradients)[n]));
    }
  return worst;
}

/// The tokens as micro wants them: rows that are 0 but for a 1.
micro::Tensor one_hot(const Tokens& tokens) {
  auto B = static_cast<int>(tokens.shape[0]), T = static_cast<int>(tokens.shape[1]);
  micro::Tensor x({B, 1, T, micro::V});
  for (int b = 0; b < B; ++b)
    for (int t = 0; t < T; ++t) x(b, 0, t, tokens.values[b * T + t]) = 1;
  return x;
}

/// The library's model of micro's sizes, with weights that all matter to what it predicts.
LanguageModel library_model() {
  LanguageModelConfig config;
  config.vocab_size = micro::V;
  config.d_model = micro::C;
  config.n_layer = micro::L;
  config.n_head = micro::H;
  config.d_inner = 4 * micro::C;
  config.mixer = TransformerXLAttentionConfig{};
  LanguageModel model = new_model(config);
  Random random{.seed = 3};
  for (const auto& [name, value, decay] : parameters(model))
    for (int64_t n = 0; n < value.count(); ++n) value.mutable_data()[n] += 0.1 * random.normal();
  return model;
}

/// A model of micro with the same weights, which both list in the same order.
micro::Model micro_model(const LanguageModel& model) {
  micro::parameters.clear();
  micro::Model copy;
  std::vector<double> all;
  for (const auto& [name, value, decay] : parameters(model)) {
    std::vector<Scalar> values = value.values();
    all.insert(all.end(), values.begin(), values.end());
  }
  auto next = all.begin();
  for (auto& [w, m, v] : micro::parameters)
    for (double& value : *w.values) {
      REQUIRE(next != all.end());
      value = *next++;
    }
  REQUIRE(next == all.end());
  return copy;
}

/// Makes one step as examples/transformer_xl.cpp does, but for clipping. Returns the loss.
double step(const LanguageModel& model, const Batch& batch, Memory& memory, Optimizer& optimizer) {
  Context context{.training = true};
  Tape tape;
  auto [logits, inputs, features] = model(batch.inputs, memory, context);
  memory = remember(memory, inputs, micro::M);
  Tensor loss = cross_entropy(logits, batch.targets);
  optimizer.zero_gradients();
  tape.backward(loss);
  optimizer.step(3e-3);
  return loss.item();
}

}  // namespace

TEST_CASE("micro: each gradient is the slope") {
  micro::Tensor x = random_tensor({2, 3, 4, 5}), y = random_tensor({2, 3, 4, 5});
  micro::Tensor row = random_tensor({1, 1, 1, 5}), column = random_tensor({2, 1, 4, 1});
  micro::Tensor positive = random_tensor({2, 3, 4, 5}, 5);
  constexpr double exact = 1e-8;
  CHECK(gradient_error({x, row}, [&] { return x + row; }) < exact);
  CHECK(gradient_error({x, column}, [&] { return x * column; }) < exact);
  CHECK(gradient_error({x}, [&] { return x * x; }) < exact);
  CHECK(gradient_error({x}, [&] { return sum(x); }) < exact);
  CHECK(gradient_error({x}, [&] { return exp(x); }) < exact);
  CHECK(gradient_error({positive}, [&] { return log(positive); }) < exact);
  CHECK(gradient_error({x}, [&] { return relu(x); }) < exact);
  CHECK(gradient_error({x}, [&] { return log_softmax(x); }) < exact);
  CHECK(gradient_error({x, y}, [&] { return cross_entropy(x, y); }) < exact);

  micro::Tensor wide = random_tensor({2, 1, 3, micro::C}), W = random_tensor({1, 1, 7, micro::C});
  micro::Tensor gain = random_tensor({1, 1, 1, micro::C});
  micro::Tensor bias = random_tensor({1, 1, 1, micro::C});
  CHECK(gradient_error({wide, W}, [&] { return linear(wide, W); }) < exact);
  CHECK(gradient_error({wide, gain, bias}, [&] { return layer_norm(wide, gain, bias); }) < exact);
  CHECK(gradient_error(
            {wide}, [&] { return add_to(heads(micro::Tensor(wide.shape)), heads(wide)); }) < exact);

  // What was added to one view, read through another.
  CHECK(gradient_error({x, y}, [&] {
          micro::Tensor padded({2, 3, 4, 5}), shifted({2, 3, 4, 4});
          add_products(slice(padded, 3, 1, 5), x, y);
          return add_to(shifted, shift(padded));
        }) < exact);
}

TEST_CASE("micro: the shift moves row i by T - 1 - i") {
  micro::Tensor padded = random_tensor({1, 2, 3, 6}), shifted = shift(padded);
  for (int h = 0; h < 2; ++h)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j <= 5 - 3 + i; ++j)
        CHECK(shifted(0, h, i, j) == padded(0, h, i, 1 + j + 2 - i));
}

TEST_CASE("micro: segments with a memory have the logits of one text") {
  micro::parameters.clear();
  micro::Model model;
  std::string text = "Two segments and their memory";
  auto length = static_cast<int>(text.size());
  std::array<micro::Tensor, micro::L> none{}, memory{};
  micro::Tensor whole = model(micro::segment(text, 1, length, 0), none);
  double worst = 0;
  for (auto [begin, end] : {std::pair{0, 7}, {7, 8}, {8, 9}, {9, length}}) {
    micro::Tensor part = model(micro::segment(text, 1, end - begin, begin), memory);
    for (int t = begin; t < end; ++t)
      for (int v = 0; v < micro::V; ++v)
        worst = std::max(worst, std::abs(part(0, 0, t - begin, v) - whole(0, 0, t, v)));
  }
  micro::tape.clear();
  CHECK(worst < 1e-14);
}

TEST_CASE("micro: twenty steps have the library's losses") {
  LanguageModel model = library_model();
  micro::Model copy = micro_model(model);
  AdamW rule{.beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1};
  Optimizer optimizer(parameters(model), rule);
  // Streams of 99 tokens: the memory of 32 is full after 4 segments, and the 13th is shorter.
  ParallelStreams batches(random_text(3 * 100, micro::V), 3, 8);
  Memory memory;
  std::array<micro::Tensor, micro::L> own_memory{};
  double first = 0;
  for (int n = 1; n <= 20; ++n) {
    Batch batch = batches.next();
    if (batch.starts_over) {
      memory.clear();
      own_memory = {};
    }
    double expected = step(model, batch, memory, optimizer);
    micro::Tensor loss =
        micro::cross_entropy(copy(one_hot(batch.inputs), own_memory), one_hot(batch.targets));
    micro::backward(loss);
    micro::adamw(n, 3e-3);
    CAPTURE(n);
    CHECK(std::abs(loss(0, 0, 0, 0) - expected) <= 1e-12 * expected);
    if (n == 1) first = expected;
    if (n == 20) CHECK(expected < first);
  }
}
