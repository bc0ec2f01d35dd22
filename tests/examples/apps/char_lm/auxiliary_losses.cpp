#include "examples/apps/char_lm/auxiliary_losses.h"

#include "ops/elementwise.h"
#include "ops/loss.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/models.h"
#include "tests/support/refusal.h"

using namespace char_lm;
using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// The mean of -log softmax(logits)[target] over the positions whose `k`-th next token is known.
double loss_oracle(const Values& logits, const Tokens& targets, int64_t k) {
  int64_t B = targets.shape[0], T = targets.shape[1], V = logits.size(2), count = 0;
  double sum = 0;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t + k - 1 < T; ++t, ++count) {
      double total = 0;
      for (int64_t v = 0; v < V; ++v) total += std::exp(logits(b, t, v));
      sum += std::log(total) - logits(b, t, targets.values[static_cast<size_t>(b * T + t + k - 1)]);
    }
  return sum / static_cast<double>(count);
}

/// The header's sum, E_L1 included.
double losses_oracle(const AuxiliaryLossesConfig& config, const LanguageModelConfig& model,
                     const Weights& weights, const Weights& own, const Tokens& tokens,
                     const Tokens& targets, int64_t step) {
  std::vector<Values> h;
  Values features = features_oracle(model, weights, tokens, {}, &h);
  double sum = loss_oracle(logits_oracle(model, weights, features), targets, 1);
  double done = static_cast<double>(step) / static_cast<double>(config.training_iters);
  int64_t L = model.n_layer;
  for (int64_t l = 1; l <= L; ++l) {
    bool last = l == L;
    double w = last ? 1 : 0;
    if (!last && done < static_cast<double>(l) / static_cast<double>(2 * L))
      w = config.intermediate_losses;
    std::string block = "blocks." + std::to_string(l - 1);
    Values x = features;
    if (!last && w > 0)
      x = model.final_norm ? norm_oracle(h[static_cast<size_t>(l)], own.of(block + ".norm"), 1e-5)
                           : h[static_cast<size_t>(l)];
    for (int64_t k = last ? 2 : 1; k <= config.targets && w > 0; ++k) {
      Weights output = own.of(block + ".outputs." + std::to_string(last ? k - 2 : k - 1));
      Values logits = linear_oracle(x, output["weight"], output["bias"]);
      double a = k == 1 ? 1 : config.extra_targets_weight;
      sum += w * a * loss_oracle(logits, targets, k);
    }
  }
  return sum;
}

ModelRow three_blocks(ModelRow row) {
  row.config.n_layer = 3;
  return row;
}

ModelTraits traits(const ModelRow& row) {
  Random random;
  return LanguageModel(row.config, random).traits();
}

}  // namespace

TEST_CASE("auxiliary losses are their formula, gradients included") {
  const std::vector<ModelRow> rows = {
      three_blocks(paper_transformer_xl()),
      three_blocks(ModelRow(
          R"("mixer": {"type": "multi_head_attention"}, "position": "learned", "max_len": 9)")),
      three_blocks(ModelRow(R"("block": "r_transformer_block", "window": 3, "cell": "rnn")")),
  };
  for (const ModelRow& row : rows)
    for (auto losses : {std::pair{0.7, 1}, {0.0, 3}, {1.0, 2}})
      // All blocks predict, the second and the last, and the last.
      for (int64_t step : {0, 15, 30}) {
        CAPTURE(row.json);
        CAPTURE(losses.first);
        CAPTURE(step);
        RandomValues random(101);
        Random start;
        LanguageModel model = row.make(random);
        AuxiliaryLossesConfig config{.intermediate_losses = losses.first,
                                     .targets = losses.second,
                                     .extra_targets_weight = 0.4,
                                     .training_iters = 60};
        AuxiliaryLosses auxiliary(config, model.traits(), start);
        randomize(auxiliary, random);
        Tokens tokens = random_tokens(2, 4, 7, 1), following = random_tokens(2, 4, 7, 2);

        Context context;
        Tape tape;
        ModelOutput output = model(tokens, {}, context);
        Tensor loss = cross_entropy(output.logits, following);
        Tensor others = auxiliary(output, following, step, context);
        if (others.defined()) loss = loss + others;
        tape.backward(loss);

        Weights weights(model), own(auxiliary);
        auto expected = [&] {
          return losses_oracle(config, row.config, weights, own, tokens, following, step);
        };
        CHECK(std::abs(static_cast<double>(loss.item()) - expected()) <= exactness * expected());
        GradientCheck check;
        for (const Parameter& parameter : parameters(model))
          check.expect(parameter.name, gradient_of(parameter.value),
                       differences(weights.all[parameter.name], expected));
        for (const Parameter& parameter : parameters(auxiliary))
          check.expect(parameter.name, gradient_of(parameter.value),
                       differences(own.all[parameter.name], expected));
      }
}

TEST_CASE("auxiliary losses: block l of L stops after l/2L of the training") {
  Random random;
  ModelTraits model = traits(three_blocks(paper_transformer_xl()));
  AuxiliaryLosses auxiliary({.intermediate_losses = 0.8, .training_iters = 61}, model, random);
  for (int64_t step = 0; step < 80; ++step) {
    CHECK(auxiliary.weight(1, step) == (step <= 10 ? 0.8 : 0));  // 61/6 = 10.2
    CHECK(auxiliary.weight(2, step) == (step <= 20 ? 0.8 : 0));
    CHECK(auxiliary.weight(3, step) == 1);
  }
}

TEST_CASE("auxiliary losses: a row too short for a target goes without it") {
  RandomValues values(102);
  Random random;
  ModelRow row = paper_transformer_xl();
  LanguageModel model = row.make(values);
  AuxiliaryLosses auxiliary({.targets = 4}, model.traits(), random);
  auto loss = [&](int64_t T) {
    Context context;
    ModelOutput output = model(random_tokens(2, T, 7, 1), {}, context);
    return auxiliary(output, random_tokens(2, T, 7, 2), 0, context);
  };
  CHECK(!loss(1).defined());
  CHECK(loss(2).defined());
}

TEST_CASE("auxiliary losses: as many parameters as output layers need") {
  Random random;
  auto count = [&](double intermediate, int64_t targets, const ModelRow& row) {
    return parameter_count(AuxiliaryLosses(
        {.intermediate_losses = intermediate, .targets = targets}, traits(row), random));
  };
  ModelRow plain = three_blocks(paper_transformer_xl());
  ModelRow normed = three_blocks(ModelRow(R"("mixer": {"type": "multi_head_attention"})"));
  int64_t output = 7 * 4 + 7;
  CHECK(count(0, 1, plain) == 0);
  CHECK(count(1, 1, plain) == 2 * output);
  CHECK(count(0, 3, plain) == 2 * output);
  CHECK(count(1, 3, plain) == 8 * output);
  CHECK(count(1, 3, normed) == 8 * output + 2 * 2 * 4);
}

TEST_CASE("auxiliary losses: bad configs") {
  ModelTraits model = traits(paper_transformer_xl());
  auto refused = [&](const AuxiliaryLossesConfig& config) {
    Random random;
    return refusal([&] { AuxiliaryLosses(config, model, random); });
  };
  CHECK(refused({.intermediate_losses = -1}) ==
        "auxiliary losses: intermediate_losses -1, expected at least 0");
  CHECK(refused({.extra_targets_weight = std::nan("")}) ==
        "auxiliary losses: extra_targets_weight nan, expected at least 0");
  CHECK(refused({.targets = 0}) == "auxiliary losses: targets 0, expected at least 1");
  model.n_layer = 1;
  CHECK(refused({.intermediate_losses = 1}) ==
        "auxiliary losses: intermediate_losses 1 for a model of one block, which is the last");
  Random random;
  CHECK(parameter_count(AuxiliaryLosses({.targets = 2}, model, random)) > 0);
  model.n_layer = 0;
  CHECK(refused({.targets = 2}) ==
        "auxiliary losses: targets 2 for a model that returns no features");
  CHECK(refused({.intermediate_losses = 1}) ==
        "auxiliary losses: intermediate_losses 1 for a model that returns no inputs of its blocks");
}
