// Language models over every mixer against their formula: logits, loss, gradients, the memory that
// they hand on, and the number of their parameters.

#include "nn/models/language_model.h"

#include <algorithm>

#include "ops/loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/mismatch.h"
#include "tests/support/models.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

struct Example {
  Tokens tokens, targets;
  std::vector<Values> memories;

  Example(const ModelRow& row, int64_t B, int64_t T, int64_t M, RandomValues& random)
      : tokens(random_tokens(B, T, row.config.vocab_size, 91)),
        targets(random_tokens(B, T, row.config.vocab_size, 92)) {
    for (int64_t l = 0; l < row.config.n_layer && row.takes_memory && M > 0; ++l)
      memories.push_back(Values(random.tensor({B, M, row.config.d_model})));
  }

  Memory memory() const {
    Memory result;
    for (const Values& values : memories) result.push_back(values.tensor());
    return result;
  }
};

}  // namespace

TEST_CASE("a model is its formula, block inputs and gradients of the loss included") {
  for (const ModelRow& row : model_rows())
    for (auto [T, M] : {std::pair{5, 0}, {3, 4}, {1, 2}}) {
      CAPTURE(row.json);
      RandomValues random(93);
      LanguageModel model = row.make(random);
      Example example(row, 2, T, M, random);
      Context context;
      Tape tape;
      auto [logits, inputs, features] = model(example.tokens, example.memory(), context);
      Tensor loss = cross_entropy(logits, example.targets);
      tape.backward(loss);

      Weights weights(model);
      std::vector<Values> expected_inputs;
      Values expected =
          oracle(row.config, weights, example.tokens, example.memories, &expected_inputs);
      CHECK(relative_error(logits, expected) <= exactness);
      REQUIRE(inputs.size() == expected_inputs.size());
      for (size_t l = 0; l < inputs.size(); ++l)
        CHECK(relative_error(inputs[l], expected_inputs[l]) <= exactness);
      auto expected_loss = [&] {
        return cross_entropy_oracle(oracle(row.config, weights, example.tokens, example.memories),
                                    example.targets);
      };
      CHECK(std::abs(static_cast<double>(loss.item()) - expected_loss()) <=
            exactness * expected_loss());
      GradientCheck check;
      for (const Parameter& parameter : parameters(model))
        check.expect(parameter.name, gradient_of(parameter.value),
                     differences(weights.all[parameter.name], expected_loss));
    }
}

TEST_CASE("a parameter that requires no gradient gets none, and the others' keep their bits") {
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.json);
    RandomValues random(98);
    LanguageModel model = row.make(random);
    Example example(row, 2, 5, 4, random);
    std::vector<Parameter> all = parameters(model);
    // Those of all but `without`.
    auto gradients = [&](size_t without) {
      for (size_t n = 0; n < all.size(); ++n) {
        all[n].value.require_gradient(n != without);
        all[n].value.zero_gradient();
      }
      Context context;
      Tape tape;
      tape.backward(
          cross_entropy(model(example.tokens, example.memory(), context).logits, example.targets));
      std::vector<std::vector<Scalar>> result;
      for (const Parameter& parameter : all) {
        Tensor gradient = parameter.value.gradient();
        result.push_back(gradient.defined() ? gradient.values() : std::vector<Scalar>());
      }
      return result;
    };
    auto whole = gradients(all.size());
    for (size_t without = 0; without < all.size(); ++without) {
      CAPTURE(all[without].name);
      auto rest = gradients(without);
      CHECK(rest[without].empty());
      rest[without] = whole[without];
      CHECK(rest == whole);
    }
  }
}

TEST_CASE("nothing is recorded below the first parameter that requires a gradient") {
  RandomValues random(99);
  LanguageModel model = paper_transformer_xl().make(random);
  auto recorded = [&](const std::string& prefix) {
    for (const auto& [name, value, decay] : parameters(model))
      value.require_gradient(name.starts_with(prefix));
    Context context;
    Tape tape;
    cross_entropy(model(random_tokens(2, 5, 7, 1), {}, context).logits, random_tokens(2, 5, 7, 2));
    return tape.size();
  };
  CHECK(recorded("output.bias") == 2);  // the output layer and the loss
  CHECK(recorded("blocks.1.") < recorded("blocks.0."));
  CHECK(recorded("blocks.0.") < recorded(""));
  CHECK(recorded("no such") == 0);
}

TEST_CASE("a model has as many parameters as its closed form says") {
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.json);
    RandomValues random(94);
    CHECK(parameter_count(row.make(random)) == count(row.config));
  }
}

TEST_CASE("what is tied is one parameter, listed once, under its owner's name") {
  RandomValues random(95);
  LanguageModel model = paper_transformer_xl().make(random);
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters(model)) names.push_back(parameter.name);
  auto times = [&](const std::string& name) {
    return std::count(names.begin(), names.end(), name);
  };
  for (const char* name : {"embedding.weight", "content_bias", "position_bias", "output.bias",
                           "blocks.1.mixer.position.weight"})
    CHECK(times(name) == 1);
  for (const char* name : {"output.weight", "blocks.0.mixer.content_bias",
                           "blocks.1.mixer.position_bias", "final_norm.weight"})
    CHECK(times(name) == 0);
}

TEST_CASE("no tokens and no members: logits of no element, and gradients of 0") {
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.json);
    RandomValues random(98);
    LanguageModel model = row.make(random);
    for (auto [B, T] : {std::pair<int64_t, int64_t>{2, 0}, {0, 3}, {0, 0}}) {
      CAPTURE(B);
      Context context;
      Tape tape;
      Tensor logits = model(random_tokens(B, T, row.config.vocab_size, 91), {}, context).logits;
      CHECK(logits.shape() == Dims{B, T, row.config.vocab_size});
      tape.backward(sum(logits));
      for (const Parameter& parameter : parameters(model))
        for (double value : gradient_of(parameter.value).values) REQUIRE(value == 0);
    }
  }
}

TEST_CASE("positions beyond max_len are refused, with memory and cache counted") {
  ModelRow row(R"("mixer": {"type": "multi_head_attention"}, "position": "learned", "max_len": 6)");
  RandomValues random(96);
  LanguageModel model = row.make(random);
  Context context;
  const std::string error = "language_model: 7 positions are beyond max_len 6";
  CHECK(refusal([&] { model(random_tokens(1, 7, 7, 1), {}, context); }) == error);
  Example example(row, 1, 3, 4, random);
  CHECK(refusal([&] { model(example.tokens, example.memory(), context); }) == error);
  std::unique_ptr<Cache> cache = model.make_cache();
  model(random_tokens(1, 6, 7, 1), *cache, context);
  CHECK(refusal([&] { model(random_tokens(1, 1, 7, 1), *cache, context); }) == error);
}

TEST_CASE("a memory must be one for each block, all alike") {
  RandomValues random(97);
  LanguageModel model = paper_transformer_xl().make(random);
  Context context;
  auto refused = [&](const Memory& memory) {
    return refusal([&] { model(random_tokens(2, 3, 7, 1), memory, context); });
  };
  Tensor two = Tensor::zeros({2, 2, 4}), three = Tensor::zeros({2, 3, 4});
  CHECK(refused({two}) == "language_model: memory for 1 blocks of 2");
  CHECK(refused({two, three}) ==
        "language_model: memories of [2, 2, 4] and [2, 3, 4], expected one [B, M, C] for all "
        "blocks");
  LanguageModel recurrent =
      ModelRow(R"("block": "r_transformer_block", "window": 3, "cell": "rnn")", false).make(random);
  CHECK(refusal([&] {
          recurrent.forward(random_tokens(2, 3, 7, 1), {two, two}, context);
        }) == "r_transformer_block: takes no memory, only a cache");
}

TEST_CASE("a pass may see as many tokens as there are learned positions for") {
  struct Case {
    const char* json;
    int64_t most;
  };
  const std::vector<Case> cases = {
      {R"("mixer": {"type": "multi_head_attention"}, "position": "learned", "max_len": 5)", 5},
      {R"("mixer": {"type": "aft", "form": "full", "max_len": 6})", 6},
      {R"("mixer": {"type": "relative_multi_head_attention", "max_positions": 5})", 6},
      {R"("mixer": {"type": "relative_multi_head_attention", "max_positions": 5,
                    "causal": false})",
       5},
  };
  RandomValues random(1);
  for (const Case& row : cases) {
    CAPTURE(row.json);
    LanguageModel model = ModelRow(row.json).make(random);
    CHECK(model.limits().keys == row.most);
    Context context;
    auto pass = [&](int64_t T) { model(random_tokens(2, T, 7, 1), Memory{}, context); };
    pass(row.most);
    CHECK(refusal([&] { pass(row.most + 1); }) != "");
  }
  for (const char* json : {R"("mixer": {"type": "multi_head_attention", "position": "alibi"})",
                           R"("mixer": {"type": "transformer_xl_attention"})",
                           R"("mixer": {"type": "relative_global_attention", "max_seq": 3})",
                           R"("block": "r_transformer_block", "window": 3, "cell": "rnn")"})
    CHECK(ModelRow(json).make(random).limits().keys == unlimited);
}

TEST_CASE("parameters start as their modules say") {
  ModelRow row(R"("mixer": {"type": "multi_head_attention"})");
  row.config.d_model = 64;
  Random start{.seed = 5};
  LanguageModel model(row.config, start);
  auto deviation = [&](const std::string& name) {
    double squares = 0;
    int64_t count = 0;
    for (const Parameter& parameter : parameters(model))
      if (parameter.name == name)
        for (Scalar value : parameter.value.values()) {
          squares += static_cast<double>(value * value);
          ++count;
        }
    return std::sqrt(squares / static_cast<double>(count));
  };
  CHECK(deviation("embedding.weight") == doctest::Approx(0.02).epsilon(0.1));
  CHECK(deviation("blocks.1.mixer.qkv.weight") == doctest::Approx(0.02).epsilon(0.05));
  CHECK(deviation("blocks.1.mixer.output.weight") == doctest::Approx(0.01).epsilon(0.05));
  CHECK(deviation("blocks.0.mixer.qkv.bias") == 0);
  CHECK(deviation("final_norm.weight") == 1);
  CHECK(deviation("output.bias") == 0);
}

TEST_CASE("language model: drops of the embedding and of what the output layer reads") {
  LanguageModelConfig config = paper_transformer_xl().config;
  config.final_norm = true;
  config.dropout = 0.5;
  Random random{.seed = 3};
  LanguageModel model(config, random);
  Tokens tokens = random_tokens(5, 20, 7, 4);
  auto zeros = [](const Tensor& x) {
    std::vector<Scalar> values = contiguous(x).values();
    return static_cast<double>(std::ranges::count(values, Scalar{0})) /
           static_cast<double>(values.size());
  };
  for (bool training : {false, true}) {
    Context context{.training = training};
    ModelOutput output = model(tokens, Memory(), context);
    // Half of the 400 numbers are dropped.
    CHECK(zeros(output.block_inputs[0]) == doctest::Approx(training ? 0.5 : 0).epsilon(0.2));
    CHECK(zeros(output.features) == doctest::Approx(training ? 0.5 : 0).epsilon(0.2));
  }
}

TEST_CASE("language_model: a rate of dropout is a share below 1") {
  auto refused = [](double LanguageModelConfig::*rate, double value) {
    LanguageModelConfig config{.vocab_size = 7, .d_model = 4, .n_layer = 1, .n_head = 2};
    config.d_inner = 8;
    config.mixer = MultiHeadAttentionConfig{};
    config.*rate = value;
    return refusal([&] {
      Random start;
      LanguageModel(config, start);
    });
  };
  CHECK(refused(&LanguageModelConfig::dropout, -1) ==
        "language_model: dropout -1, expected 0 to less than 1");
  CHECK(refused(&LanguageModelConfig::attention_dropout, 1) ==
        "language_model: attention_dropout 1, expected 0 to less than 1");
}
