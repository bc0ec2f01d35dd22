// What only AFT has: keys of ±60, channels in groups wider than a vector loop, a normed kernel.

#include "nn/aft.h"

#include "core/machine/allocator.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/mismatch.h"
#include "tests/support/named_parameters.h"
#include "tests/support/oracles/aft.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

std::vector<Sized<AftConfig>> every_form(int64_t C) {
  std::vector<Sized<AftConfig>> configs;
  for (bool causal : {true, false}) {
    configs.push_back({{.max_len = 12, .causal = causal}, {C}});
    configs.push_back(
        {{.form = AftForm::local, .max_len = 12, .window = 3, .causal = causal}, {C}});
    configs.push_back({{.form = AftForm::simple, .causal = causal}, {C}});
    configs.push_back({{.form = AftForm::conv, .window = 3, .causal = causal}, {C, 2}});
  }
  return configs;
}

/// The bias that all keys share, to which each adds what its token makes of it.
void raise_keys(const Aft& layer, double k) {
  Tensor bias = layer.config.form == AftForm::conv
                    ? layer.key.bias
                    : slice(layer.qkv.bias, 0, layer.width.d_model, 2 * layer.width.d_model);
  for (int64_t c = 0; c < bias.count(); ++c) bias.mutable_data()[c] += static_cast<Scalar>(k);
}

/// Values, and the gradients of x and of the parameters that `checked` names.
void check_layer(const Sized<AftConfig>& config, const Aft& layer, Input input,
                 RandomValues& random,
                 const std::function<bool(const std::string&)>& checked) {
  CAPTURE(config.form);
  CAPTURE(config.causal);
  for (const Parameter& parameter : parameters(layer)) parameter.value.zero_gradient();
  Tensor x = input.x.tensor().require_gradient(), cotangent = random.tensor(x.shape());
  Context context;
  Tape tape;
  Tensor y = layer.forward(x, input.memory.tensor(), context);
  tape.backward(y, cotangent);
  Weights weights(layer);
  CHECK(relative_error(y, oracle(config, weights, input)) <= exactness);
  Values c(cotangent);
  auto loss = [&] { return inner_product(oracle(config, weights, input), c); };
  GradientCheck check;
  check.expect("x", gradient_of(x), differences(input.x, loss));
  for (const Parameter& parameter : parameters(layer))
    if (checked(parameter.name))
      check.expect(parameter.name, gradient_of(parameter.value),
                   differences(weights.all[parameter.name], loss));
}

Input aft_input(int64_t B, int64_t T, int64_t M, int64_t C, double size, RandomValues& random) {
  Input input;
  input.x = Values(random.tensor({B, T, C}));
  input.memory = Values(random.tensor({B, M, C}));
  for (Values* part : {&input.x, &input.memory})
    for (double& value : part->values) value = static_cast<Scalar>(size * value);
  return input;
}

}  // namespace

TEST_CASE("a window longer than the table is as long as the table") {
  for (bool causal : {true, false}) {
    auto run = [&](int64_t window, bool fed) {
      RandomValues random(5);
      Aft layer = random_layer(Sized{AftConfig{.form = AftForm::local,
                                               .max_len = 12,
                                               .window = window,
                                               .causal = causal},
                                     {6}},
                               random);
      Tensor x = random.tensor({2, 9, 6});
      Context context;
      reset_peak();
      int64_t before = allocator_counters().bytes_in_use;
      Tensor y = fed ? layer(x, *layer.make_cache(), context) : layer(x, context);
      CHECK(allocator_counters().peak_bytes_in_use - before < 1'000'000);
      return y.values();
    };
    for (int64_t window : {13, 40, 1'000'000'000}) {
      CHECK(run(window, false) == run(12, false));
      if (causal) CHECK(run(window, true) == run(12, true));
    }
  }
}

TEST_CASE("aft: keys around +60 and -60, and far apart") {
  for (const Sized<AftConfig>& config : every_form(4))
    for (double k : {60, -60}) {
      CAPTURE(k);
      RandomValues random(121);
      Aft layer = random_layer(config, random);
      raise_keys(layer, k);
      check_layer(config, layer, aft_input(2, 4, 3, 4, 1, random), random,
                  [](const std::string&) { return true; });
    }
  // Tokens 40 times as large: keys differ by e^60 and more from one to the next.
  for (const Sized<AftConfig>& config : every_form(4)) {
    RandomValues random(122);
    Aft layer = random_layer(config, random);
    Input input = aft_input(2, 4, 3, 4, 40, random);
    Context context;
    Tensor y = layer.forward(input.x.tensor(), input.memory.tensor(), context);
    // Rounding a key of 100 moves the weights by a hundred times as much.
    CHECK(relative_error(y, oracle(config, Weights(layer), input)) <= 100 * exactness);
  }
}

TEST_CASE("aft: a key without a bias on top of it loses nothing to a key of +60 beside it") {
  for (const Sized<AftConfig>& config : every_form(4)) {
    CAPTURE(config.form);
    RandomValues random(123);
    Aft layer = random_layer(config, random);
    Input input = aft_input(1, 6, 0, 4, 1, random);
    // The last token's keys alone are large; in the causal forms nobody else sees them.
    for (int64_t c = 0; c < 4; ++c) input.x(0, 5, c) *= 1000;
    Context context;
    Tensor y = layer.forward(input.x.tensor(), {}, context);
    Values expected = oracle(config, Weights(layer), input);
    Tensor past = slice(y, 1, 0, 5);
    Values expected_past({1, 5, 4});
    for (int64_t t = 0; t < 5; ++t)
      for (int64_t c = 0; c < 4; ++c) expected_past(0, t, c) = expected(0, t, c);
    double allowed = config.causal ? exactness : 1000 * exactness;
    CHECK(relative_error(past, expected_past) <= allowed);
  }
}

TEST_CASE("aft: groups of channels that are no multiple of a vector loop") {
  for (const Sized<AftConfig>& config : every_form(134)) {  // 67 channels a head
    RandomValues random(124);
    Aft layer = random_layer(config, random);
    for (const Parameter& parameter : parameters(layer))
      if (parameter.name.ends_with(".weight"))
        for (int64_t n = 0; n < parameter.value.count(); ++n)
          parameter.value.mutable_data()[n] /= 8;
    check_layer(config, layer, aft_input(1, 3, 1, 134, 1, random), random,
                [](const std::string& name) {
                  return name.starts_with("kernel") || name == "output.bias";
                });
  }
}

TEST_CASE("aft: the only tap of a conv has no gradient but through its offset") {
  RandomValues random(125);
  for (bool causal : {true, false}) {
    Aft layer = random_layer(
        Sized{AftConfig{.form = AftForm::conv, .window = 1, .causal = causal}, {4, 2}},
        random);
    Tensor x = random.tensor({2, 5, 4});
    Context context;
    Tape tape;
    Tensor y = layer.forward(x, {}, context);
    tape.backward(y, random.tensor(y.shape()));
    CHECK(greatest(gradient_of(layer.kernel)) == 0);
    CHECK(greatest(gradient_of(layer.kernel_gain)) == 0);
    CHECK(greatest(gradient_of(layer.kernel_offset)) > 0);
  }
}

TEST_CASE("aft: conv starts as simple, with no gain and no offset") {
  Random start{.seed = 2};
  Aft layer({.form = AftForm::conv, .window = 3}, {4, 2}, start);
  CHECK(greatest(Values(layer.kernel_gain)) == 0);
  CHECK(greatest(Values(layer.kernel_offset)) == 0);
  CHECK(greatest(Values(layer.kernel)) > 0);
}

TEST_CASE("the recorded weights, times the values, are the output") {
  constexpr int64_t B = 2, T = 5, M = 3, C = 4, K = M + T;
  for (const Sized<AftConfig>& config : every_form(C)) {
    CAPTURE(config.form);
    CAPTURE(config.causal);
    RandomValues random(151);
    Aft layer = random_layer(config, random);
    Tensor x = random.tensor({B, T, C}), memory = random.tensor({B, M, C});
    Values p;
    Context context;
    context.recorder = [&](const Tensor& weights) { p = Values(weights); };
    Tensor y = layer.forward(x, memory, context);
    REQUIRE(p.shape == Dims{B, T, K, C});
    AftTerms terms = layer.project(x, memory);
    Values v(terms.value), mixed({B, T, C});
    for (int64_t b = 0; b < B; ++b)
      for (int64_t t = 0; t < T; ++t)
        for (int64_t c = 0; c < C; ++c)
          for (int64_t j = 0; j < K; ++j) {
            CHECK((p(b, t, j, c) > 0) == (!config.causal || j <= M + t));
            mixed(b, t, c) += p(b, t, j, c) * v(b, j, c);
          }
    CHECK(relative_error(y, Values(layer.output(terms.gate * mixed.tensor()))) <= exactness);
  }
}
