// The program that runs one layer on a case file: every layer's answer against its formula, and
// what it says of broken cases.

#include <doctest/doctest.h>

#include "nn/models/config.h"
#include "ops/loss.h"
#include "tests/support/layer_case.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

Values value_in(const Outcome& outcome, const std::string& name) {
  return Values(loaded_tensor(name, outcome.answer->tensors.at(name)));
}

/// The names of all tensors in an answer.
std::vector<std::string> names_of(const SafeTensors& answer) {
  std::vector<std::string> names;
  for (const auto& entry : answer.tensors) names.push_back(entry.first);
  return names;
}

using Formula = std::function<Values(const Weights&, const Input&)>;

/// Runs a case of the module and compares output and gradients with the formula's.
void check_answer(const std::string& layer, const std::string& json, const Module& module,
                  Input input, RandomValues& random, const Formula& formula) {
  CAPTURE(layer);
  CAPTURE(json);
  SafeTensors given = make_case(layer, json, module);
  Tensor cotangent = random.tensor(input.x.shape);
  add_input(given, input, cotangent);
  given.metadata["comment"] = "other keys are ignored";
  Outcome outcome = run_case(given);
  CHECK(outcome.status == 0);
  CHECK(outcome.error == "");
  REQUIRE(outcome.answer);

  Weights weights(module);
  CHECK(relative_error(value_in(outcome, "output"), formula(weights, input)) <= exactness);
  Values c(cotangent);
  auto loss = [&] { return inner_product(formula(weights, input), c); };
  std::vector<std::string> expected_names;
  GradientCheck check;
  for (const Parameter& parameter : parameters(module)) {
    expected_names.push_back("grad.param." + parameter.name);
    check.expect(parameter.name, value_in(outcome, expected_names.back()),
                 differences(weights.all[parameter.name], loss));
  }
  expected_names.push_back("grad.input.x");
  check.expect("x", value_in(outcome, "grad.input.x"), differences(input.x, loss));
  if (input.context.defined()) {
    expected_names.push_back("grad.input.context");
    check.expect("context", value_in(outcome, "grad.input.context"),
                 differences(input.context, loss));
  }
  expected_names.push_back("output");
  std::sort(expected_names.begin(), expected_names.end());
  CHECK(names_of(*outcome.answer) == expected_names);
}

Input make_input(int64_t B, int64_t T, int64_t M, int64_t C, RandomValues& random) {
  Input input;
  input.x = Values(random.tensor({B, T, C}));
  if (M > 0) input.memory = Values(random.tensor({B, M, C}));
  return input;
}

template <class Config>
typename Config::Layer make_layer(const std::string& json, RandomValues& random) {
  Random start;
  auto layer = make_layer(config_from_json<Config>(json), start);
  randomize(layer, random);
  return layer;
}

/// One case of a layer, with a memory and masks where it takes them.
void check_row(const LayerRow& row) {
  RandomValues random(141);
  std::unique_ptr<Layer> layer = random_layer(row, random);
  Input input = make_input(2, 3, row.takes_memory ? 2 : 0, row.d_model, random);
  int64_t K = input.K();
  if (row.takes_masks) {
    Mask padding{{2, K}, {}}, hidden{{3, K}, {}};
    for (int64_t n = 0; n < 2 * K; ++n) padding.values.push_back(n % 4 == 1 || n >= K);
    for (int64_t n = 0; n < 3 * K; ++n) hidden.values.push_back(n % 5 == 2);
    input.padding = std::make_shared<Mask>(padding);
    input.hidden = std::make_shared<Mask>(hidden);
  }
  check_answer(row.type, row.json, *layer, input, random, row.oracle);
}

}  // namespace

TEST_CASE("run_layer: every layer") {
  for (const LayerRow& row : layer_rows()) {
    if (row.json.empty()) continue;
    CAPTURE(row.name);
    check_row(row);
  }
}

TEST_CASE("run_layer: cross-attention") {
  RandomValues random(142);
  const std::string cross = R"({"d_model": 4, "n_head": 2, "causal": true})";
  auto attention = make_layer<MultiHeadAttentionConfig>(cross, random);
  Input input = make_input(2, 3, 0, 4, random);
  input.context = Values(random.tensor({2, 5, 4}));
  input.padding = std::make_shared<Mask>(Mask{{2, 5}, {0, 1, 0, 0, 1, 1, 1, 1, 1, 1}});
  check_answer("multi_head_attention", cross, attention, input, random,
               [&](const Weights& weights, const Input& given) {
                 return oracle(config_from_json<MultiHeadAttentionConfig>(cross), weights, given);
               });

  const std::string json =
      R"({"mixer": {"type": "aft", "form": "simple", "d_model": 4}, "n_head": 2, "d_inner": 5,
          "activation": "gelu"})";
  auto block = make_layer<EncoderDecoderBlockConfig>(json, random);
  input = make_input(2, 3, 2, 4, random);
  input.context = Values(random.tensor({2, 6, 4}));
  input.padding = std::make_shared<Mask>(Mask{{2, 5}, {0, 1, 0, 0, 1, 1, 1, 1, 1, 1}});
  check_answer("encoder_decoder_block", json, block, input, random,
               [&](const Weights& weights, const Input& given) {
                 return oracle(config_from_json<EncoderDecoderBlockConfig>(json), 2, weights, given,
                               {});
               });
}

TEST_CASE("run_layer: the shifts") {
  RandomValues random(143);
  Input input;
  input.x = Values(random.tensor({2, 3, 5}));
  struct Nothing : Module {
    void visit(Visitor&) const override {}
  } nothing;
  auto shifted = [](const Input& given, bool left, bool zero) {
    Values y(given.x.shape);
    int64_t T = 3, K = 5;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t n = 0; n < T * K; ++n) {
        // Where element n of the result stands among rows of K numbers and one 0.
        int64_t at = left ? n + T : n, row = at / (K + 1), column = at % (K + 1) - (left ? 1 : 0);
        bool in_padding = column < 0 || column == K;
        bool zeroed = zero && n % K - n / K > K - T;
        y(b, n / K, n % K) = in_padding || zeroed ? 0 : given.x(b, row, column);
      }
    return y;
  };
  for (bool zero : {false, true})
    check_answer("rel_shift", zero ? R"({"zero_triu": true})" : "{}", nothing, input, random,
                 [&](const Weights&, const Input& given) { return shifted(given, true, zero); });
  check_answer("shift_right", "{}", nothing, input, random,
               [&](const Weights&, const Input& given) { return shifted(given, false, false); });
}

TEST_CASE("run_layer: language models") {
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.json);
    RandomValues random(144);
    LanguageModel model = row.make(random);
    SafeTensors given = make_case("language_model", row.json, model);
    Tokens tokens = random_tokens(2, 3, 7, 145), targets = random_tokens(2, 3, 7, 146);
    given.tensors["input.tokens"] = stored(tokens);
    given.tensors["input.targets"] = stored(targets);
    std::vector<Values> memories, inputs;
    for (int64_t l = 0; row.takes_memory && l < 2; ++l) {
      memories.push_back(Values(random.tensor({2, 4, 4})));
      given.tensors["input.memory." + std::to_string(l)] = stored(memories.back().tensor());
    }
    Outcome outcome = run_case(given);
    CHECK(outcome.status == 0);
    CHECK(outcome.error == "");
    REQUIRE(outcome.answer);
    Weights weights(model);
    Values logits = oracle(row.config, weights, tokens, memories, &inputs);
    auto loss = [&] {
      return cross_entropy_oracle(oracle(row.config, weights, tokens, memories), targets);
    };
    CHECK(relative_error(value_in(outcome, "output"), logits) <= exactness);
    Values got = value_in(outcome, "loss");
    CHECK(got.shape == Dims{});
    CHECK(std::abs(got.values[0] - loss()) <= exactness * loss());
    for (size_t l = 0; l < 2; ++l)
      CHECK(relative_error(value_in(outcome, "memory." + std::to_string(l)), inputs[l]) <=
            exactness);
    CHECK(outcome.answer->tensors.size() == 4 + weights.all.size());
    // The gradients are those of the model's own test; here each has to be under its name.
    Context context;
    Memory memory;
    for (const Values& values : memories) memory.push_back(values.tensor());
    Tape tape;
    tape.backward(cross_entropy(model(tokens, memory, context).logits, targets));
    for (const Parameter& parameter : parameters(model))
      CHECK(relative_error(value_in(outcome, "grad.param." + parameter.name),
                           gradient_of(parameter.value)) <= exactness);
  }
}
