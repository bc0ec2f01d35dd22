// Someone else's op, mixer and attention, checked as the project checks its own: gradients by
// difference quotients, pieces against the whole, a model that learns what only the mixer can tell
// it, and the attention against the one that it is made after.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>
#include <utility>
#include <vector>

#include "causal_convolution.h"
#include "convolution_mixer.h"
#include "forgetting_attention.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/nn/models/generate.h"
#include "shiftgrad/nn/models/language_model.h"
#include "shiftgrad/nn/multi_head_attention.h"
#include "shiftgrad/nn/positions.h"
#include "shiftgrad/ops/concat.h"
#include "shiftgrad/ops/elementwise.h"
#include "shiftgrad/ops/gradient_check.h"
#include "shiftgrad/ops/shape.h"
#include "shiftgrad/optim/trainer.h"

using namespace shiftgrad;
using outside::ConvolutionMixer;
using outside::ForgettingAttention;

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::cout << "FAILED: " << what << '\n';
  ++failures;
}

Tensor random_tensor(const Dims& shape, Random& random) {
  return normal_parameter(shape, random, 1).detach();
}

double largest(const Tensor& x) {
  double most = 0;
  for (Scalar value : x.values()) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

/// The largest difference by the largest value.
double error(const Tensor& x, const Tensor& expected) {
  return largest(x - expected) / largest(expected);
}

void check_op() {
  Tensor tokens = Tensor::from({1, 3, 1}, std::vector<Scalar>{1, 2, 3});
  Tensor kernel = Tensor::from({2, 1}, std::vector<Scalar>{10, 1});
  expect(outside::causal_convolution(tokens, kernel).values() == std::vector<Scalar>{10, 21, 32},
         "the convolution's values");
  if (sizeof(Scalar) < 8) return;  // floats have too few digits for difference quotients

  Random random{.seed = 1};
  Tensor x = random_tensor({2, 5, 3}, random), w = random_tensor({4, 3}, random);
  expect(gradient_check([&] { return outside::causal_convolution(x, w); }, {x, w}) < 1e-9,
         "the gradients of x and the kernel");
}

/// The text of the Error that `action` throws, if it does.
template <class Action>
std::string refused(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

constexpr double exactness = sizeof(Scalar) == 8 ? 1e-12 : 1e-5;

void check_pieces(const Layer& mixer) {
  Random random{.seed = 4};
  Tensor x = random_tensor({2, 9, 6}, random);
  Context context;
  Tensor whole = mixer(x, context);
  std::unique_ptr<Cache> cache = mixer.make_cache(), short_cache = mixer.make_cache(2);
  std::vector<Tensor> fed, remembered, limited, behind_two;
  for (auto [begin, end] : {std::pair{0, 1}, {1, 3}, {3, 9}}) {
    Tensor piece = slice(x, 1, begin, end);
    fed.push_back(mixer(piece, *cache, context));
    remembered.push_back(mixer(piece, slice(x, 1, 0, begin), context));
    limited.push_back(mixer(piece, *short_cache, context));
    Tensor two = slice(x, 1, std::max(0, begin - 2), begin);
    behind_two.push_back(mixer(piece, two, context));
  }
  expect(error(concat(fed, 1), whole) < exactness, "pieces through a state to give the whole");
  expect(error(concat(remembered, 1), whole) < exactness,
         "pieces behind a memory to give the whole");
  expect(error(concat(limited, 1), concat(behind_two, 1)) < exactness,
         "a limit to be a short memory");
}

void check_mixer(int64_t window) {
  Random random{.seed = 2};
  ConvolutionMixer mixer(6, window, random), other(6, window, random);
  expect(parameter_count(mixer) == window * 6 + 6 * 6 + 6, "the mixer's number of parameters");
  check_pieces(mixer);
  Tensor x = random_tensor({2, 3, 6}, random);
  Context context;
  expect(refused([&] { mixer(slice(x, 0, 0, 1), slice(x, 1, 0, 1), context); }) ==
             "convolution: memory [2, 1, 6] for x [1, 3, 6], expected [1, M, 6]",
         "a memory of another batch to be refused");
  std::unique_ptr<Cache> cache = mixer.make_cache();
  expect(refused([&] { other(x, *cache, context); }).starts_with("convolution: the cache of"),
         "a state of another mixer to be refused");
}

/// With ALiBi's slopes it is ALiBi, and it learns them.
void check_attention() {
  constexpr int64_t heads = 3;
  Random random{.seed = 5}, same = random, inputs{.seed = 6};
  ForgettingAttention attention(6, heads, random);
  MultiHeadAttention alibi({.position = AttentionPosition::alibi}, {6, heads}, same);
  expect(parameter_count(attention) == parameter_count(alibi) + heads,
         "the attention's number of parameters");
  std::vector<double> slopes = alibi_slopes(heads);
  std::copy(slopes.begin(), slopes.end(), attention.slope.mutable_data());

  Tensor x = random_tensor({2, 5, 6}, inputs);
  Context context;
  auto f = [&] { return attention.forward(x, Tensor(), context); };
  expect(error(f(), alibi.forward(x, Tensor(), context)) < exactness, "ALiBi with ALiBi's slopes");
  check_pieces(attention);
  if (sizeof(Scalar) < 8) return;
  expect(gradient_check(f, {attention.slope}) < 1e-9, "the gradient of the slopes");
}

/// Bits that the one before and the fourth before decide, by exclusive or.
std::vector<int32_t> shift_register(int64_t length) {
  std::vector<int32_t> bits = {1, 0, 0, 1};
  while (std::ssize(bits) < length) bits.push_back(bits.back() ^ bits[bits.size() - 4]);
  return bits;
}

/// A model with that many taps, trained on the beginning of `text`.
LanguageModel trained(int64_t window, std::span<const int32_t> text) {
  LanguageModelConfig config;
  config.vocab_size = 2;
  config.d_model = 16;
  config.n_layer = 1;
  config.n_head = 1;
  config.d_inner = 64;
  Random random{.seed = 3};
  LanguageModel model(config, random, [window](Random& random) {
    return std::make_unique<ConvolutionMixer>(16, window, random);
  });
  Trainer trainer(model, text, {},
                  {.batch_size = 8,
                   .block_size = 32,
                   .batches = BatchType::blocks,
                   .max_iters = 150,
                   .learning_rate = 1e-2,
                   .warmup_iters = 10});
  trainer.run({});
  return model;
}

/// How many of the bits behind the first 20 the likeliest continuation has right.
int64_t continued(const LanguageModel& model, const std::vector<int32_t>& text) {
  std::vector<int32_t> prompt(text.begin(), text.begin() + 20);
  std::vector<int32_t> written =
      generate(model, prompt, {.length = std::ssize(text) - 20, .sampling = {.temperature = 0}});
  return std::mismatch(written.begin(), written.end(), text.begin() + 20).first - written.begin();
}

void check_model() {
  std::vector<int32_t> text = shift_register(400);
  expect(continued(trained(4, text), text) == 380, "a model of four taps to know the register");
  expect(continued(trained(3, text), text) < 30, "a model of three taps not to");
}

}  // namespace

int main() {
  initialize();
  check_op();
  for (int64_t window : {1, 2, 4, 20}) check_mixer(window);
  check_attention();
  check_model();
  return failures > 0;
}
