#include "optim/trainer.h"

#include <cmath>
#include <thread>

#include "core/machine/parallel.h"
#include "core/tape.h"
#include "examples/apps/char_lm/auxiliary_losses.h"
#include "nn/state_dict.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/clip.h"
#include "tests/support/own_model.h"
#include "tests/support/refusal.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;
using char_lm::AuxiliaryLosses;
using char_lm::AuxiliaryLossesConfig;
using test::OwnModel;

namespace {

LanguageModelConfig with_dropout(LanguageModelConfig config) {
  config.dropout = config.attention_dropout = 0.1;
  return config;
}

/// 0 1 2 3 4 5 6 0 1 …
std::vector<int32_t> repeating_text(int64_t length) {
  std::vector<int32_t> text;
  for (int64_t n = 0; n < length; ++n) text.push_back(static_cast<int32_t>(n % 7));
  return text;
}

/// Everything that a run of 20 steps leaves behind.
struct TwentySteps {
  std::vector<double> losses;
  std::map<std::string, StoredTensor> weights;
  double validation;

  bool operator==(const TwentySteps&) const = default;
};

TwentySteps train(const LanguageModelConfig& model_config, const TrainerConfig& config) {
  LanguageModel model = new_model(with_dropout(model_config));
  std::vector<int32_t> text = random_text(500, 7), validation = random_text(60, 7, 12);
  Trainer trainer(model, text, validation, config);
  TwentySteps outcome;
  for (int n = 0; n < 20; ++n) outcome.losses.push_back(trainer.step().loss);
  outcome.weights = state_dict(model);
  outcome.validation = trainer.evaluation().validation.nats;
  return outcome;
}

/// A model whose two tables, [7, 8] each, are parts of one storage if asked.
OwnModel of_parts(bool one_storage) {
  OwnModel model = test::own_model();
  if (!one_storage) return model;
  Tensor all = concat({model.table, model.output.weight}, 0);
  all.require_gradient();
  model.table = slice(all, 0, 0, 7);
  model.output.weight = slice(all, 0, 7, 14);
  return model;
}

/// A model with a tensor that learns, besides those that it lists.
struct Forgetful : OwnModel {
  Tensor hidden;

  Forgetful() : OwnModel(test::own_model()), hidden(constant_parameter({7}, 1)) {}
  ModelOutput forward(const Tokens& tokens, const Memory& memory, Context& context) const override {
    return {.logits = OwnModel::forward(tokens, memory, context).logits * hidden};
  }
};

}  // namespace

TEST_CASE("trainer: parts of one storage learn as tensors of their own, to the last bit") {
  std::vector<int32_t> text = random_text(300, 7);
  auto outcome = [&](bool one_storage, const TrainerConfig& config, bool resumed) {
    OwnModel model = of_parts(one_storage);
    Trainer trainer(model, text, {}, config);
    std::vector<double> figures;
    auto step = [&](Trainer& one) {
      StepReport report = one.step();
      figures.insert(figures.end(), {report.loss, report.gradient_norm});
    };
    for (int n = 0; n < 6; ++n) step(trainer);
    std::map<std::string, StoredTensor> weights = state_dict(model);
    if (resumed) {
      OwnModel other = of_parts(one_storage);
      load_state_dict(other, weights, "test");
      Trainer second(other, text, {}, config);
      second.resume(trainer.saved(), "test");
      for (int n = 0; n < 4; ++n) step(second);
      weights = state_dict(other);
    }
    CHECK(weights.contains("table"));
    CHECK(weights.contains("output.weight"));
    return std::pair(figures, weights);
  };
  TrainerConfig clipped = blocks(), frozen = blocks(), momentum = blocks();
  clipped.grad_clip = 0.05;
  frozen.freeze = {"table"};
  momentum.optimizer = OptimizerType::sgd;
  momentum.momentum = 0.9;
  momentum.gradient_accumulation_steps = 2;
  for (const TrainerConfig& config : {blocks(), clipped, frozen, momentum})
    for (bool resumed : {false, true})
      CHECK(outcome(true, config, resumed) == outcome(false, config, resumed));
}

TEST_CASE("trainer: what learns and is not listed is refused in the first step") {
  Forgetful model;
  std::vector<int32_t> text = random_text(100, 7);
  Trainer trainer(model, text, {}, blocks());
  auto before = state_dict(model);
  for (int n = 0; n < 2; ++n)
    CHECK(refusal([&] { trainer.step(); }).find("reads a tensor of shape [7] that requires") !=
          std::string::npos);
  CHECK(state_dict(model) == before);
  CHECK(model.hidden.values() == std::vector<Scalar>(7, 1));
  model.hidden.require_gradient(false);
  trainer.step();
  CHECK(trainer.state().step == 1);
}

TEST_CASE("trainer: one model is trained by one thread after the other, and read by many") {
  std::vector<int32_t> text = random_text(100, 7);
  OwnModel model = test::own_model();
  Trainer trainer(model, text, {}, blocks());
  for (int n = 0; n < 3; ++n) std::thread([&] { trainer.step(); }).join();
  std::vector<std::vector<Scalar>> logits(3);
  std::vector<std::thread> readers;
  for (auto& one : logits)
    readers.emplace_back([&] {
      Context context;
      for (int n = 0; n < 20; ++n)
        one = model({{1, 4}, {1, 2, 3, 4}}, Memory(), context).logits.values();
    });
  for (std::thread& reader : readers) reader.join();
  CHECK(logits[0] == logits[1]);
  CHECK(logits[0] == logits[2]);
  CHECK_FALSE(model.table.recorded());
  trainer.step();
}

TEST_CASE("trainer: learns what can be learnt") {
  std::vector<int32_t> text = repeating_text(400);
  for (TrainerConfig config : {streams(8), blocks()}) {
    config.max_iters = 120;
    LanguageModel model = new_model(config.batches == BatchType::blocks ? small_transformer(8)
                                                                        : small_transformer_xl());
    Trainer trainer(model, text, text, config);
    StepReport first = trainer.step(), last;
    CHECK(first.loss == doctest::Approx(std::log(7)).epsilon(0.05));
    trainer.run({.on_step = [&](const StepReport& report) { last = report; }});
    CHECK(last.step == 120);
    CHECK(last.loss < 0.1);
    CHECK(trainer.evaluation().validation.nats < 0.2);
  }
}

TEST_CASE("trainer: a step is these lines") {
  std::vector<int32_t> text = random_text(200, 7);
  TrainerConfig config = streams(5);
  config.grad_clip = 0.1;
  LanguageModel trained = new_model(with_dropout(small_transformer_xl()));
  Trainer trainer(trained, text, {}, config);

  LanguageModel model = new_model(with_dropout(small_transformer_xl()));
  ParallelStreams batches(text, config.batch_size, config.block_size);
  AdamW rule{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
  Optimizer optimizer(parameters(model), rule);
  Context context{.training = true, .random = trainer.state().random};
  Memory memory;
  for (int step = 0; step < 4; ++step) {
    Batch batch = batches.next();
    Tape tape;
    ModelOutput output = model(batch.inputs, memory, context);
    tape.backward(cross_entropy(output.logits, batch.targets));
    double norm = clip_gradient_norm(parameters(model), 0.1);
    optimizer.step(0.01 * (step + 1) / 6);
    optimizer.zero_gradients();
    memory = remember(memory, output.block_inputs, 5);

    CHECK(norm > 0.1);
    CHECK(trainer.step().gradient_norm == norm);
    CHECK(state_dict(trained) == state_dict(model));
  }
}

TEST_CASE("trainer: the same seed gives the same bits, another seed others") {
  for (auto [model, config] :
       {std::pair(small_transformer_xl(), streams(8)), std::pair(small_transformer(8), blocks())}) {
    TwentySteps outcome = train(model, config);
    CHECK(train(model, config) == outcome);
    config.seed = 2;
    CHECK(train(model, config).losses != outcome.losses);
  }
}

TEST_CASE("trainer: 1, 2 and 4 threads give the same bits") {
  for (auto [model, config] :
       {std::pair(small_transformer_xl(), streams(8)), std::pair(small_transformer(8), blocks())}) {
    model.d_model = 64;
    model.d_inner = 160;
    std::vector<TwentySteps> outcomes;
    for (int threads : {1, 2, 4}) {
      ThreadLimit limit(threads);
      outcomes.push_back(train(model, config));
    }
    CHECK(outcomes[1] == outcomes[0]);
    CHECK(outcomes[2] == outcomes[0]);
  }
}

TEST_CASE("trainer: auxiliary losses join the gradient, and the report names the main one") {
  std::vector<int32_t> text = random_text(200, 7);
  TrainerConfig config = streams(5);
  config.grad_clip = 0;
  config.max_iters = 8;  // of which two with the losses of the first block
  LanguageModel trained = loud_model(small_transformer_xl());
  AuxiliaryLossesConfig losses{.intermediate_losses = 1, .targets = 2, .training_iters = 8};
  Random random;
  AuxiliaryLosses trained_too(losses, trained.traits(), random);
  Trainer trainer(trained, text, {}, config, alone(), &trained_too);

  LanguageModel model = loud_model(small_transformer_xl());
  AuxiliaryLosses auxiliary(losses, model.traits(), random);
  auto weights = [&] {
    std::map<std::string, StoredTensor> own;
    for (const auto& [name, tensor] : trainer.saved())
      if (name.starts_with("auxiliary.")) own[name.substr(10)] = tensor;
    return own;
  };
  ParallelStreams batches(text, config.batch_size, config.block_size);
  Memory memory;
  Context context;
  for (int step = 0; step < 4; ++step) {
    load_state_dict(model, state_dict(trained), "trained");
    load_state_dict(auxiliary, weights(), "trained");
    Batch batch = batches.next();
    std::vector<Parameter> all = parameters(model);
    for (const Parameter& parameter : parameters(auxiliary)) all.push_back(parameter);
    for (const Parameter& parameter : all) parameter.value.zero_gradient();
    Tape tape;
    ModelOutput output = model(batch.inputs, memory, context);
    Tensor loss = cross_entropy(output.logits, batch.targets);
    tape.backward(loss + auxiliary(output, batch.targets, step, context));
    memory = remember(memory, output.block_inputs, 5);

    auto before = weights();
    StepReport report = trainer.step();
    CHECK(report.loss == static_cast<double>(loss.item()));
    CHECK(report.gradient_norm == gradient_norm(all));
    for (const auto& entry : weights()) {
      const std::string& name = entry.first;
      CAPTURE(name);
      bool learns = name.starts_with("blocks.1.") || step < 2;
      CHECK((entry.second != before.at(name)) == learns);
    }
  }
}

TEST_CASE("trainer: bad configs and texts") {
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(100, 7);
  auto refused = [&](auto change) {
    TrainerConfig config = streams(0);
    change(config);
    return refusal([&] { Trainer(model, text, {}, config); });
  };
  CHECK(refused([](auto& c) { c.batches = BatchType::blocks, c.mem_len = 3; }) ==
        "trainer: mem_len needs batches \"streams\"");
  CHECK(refused([](auto& c) { c.batch_warmup_iters = 5; }) ==
        "trainer: batch_warmup_iters 5 needs gradient_accumulation_steps of more than 1");
  CHECK(refused([](auto& c) { c.batch_warmup_iters = -1; }) ==
        "trainer: batch_warmup_iters -1, expected at least 0");
  CHECK(refused([](auto& c) { c.beta1 = 1; }) == "trainer: beta1 1, expected 0 to less than 1");
  CHECK(refused([](auto& c) { c.eval_interval = 0; }) ==
        "trainer: eval_interval 0, expected at least 1");
  CHECK(refused([](auto& c) { c.save_interval = -1; }) ==
        "trainer: save_interval -1, expected at least 0");
  CHECK(refused([](auto& c) { c.gradient_accumulation_steps = 0; }) ==
        "trainer: gradient_accumulation_steps 0, expected at least 1");
  CHECK(refused([](auto& c) { c.patience = -1; }) == "trainer: patience -1, expected at least 0");
  CHECK(refused([](auto& c) { c.freeze = "embedding.*,blocks.2.*"; }) ==
        "freeze \"blocks.2.*\", expected a pattern that matches a parameter, such as "
        "embedding.weight");
  CHECK(refused([](auto& c) { c.freeze = "*"; }) == "freeze \"*\" leaves no parameter to train");
  CHECK(refused([](auto& c) { c.freeze = "blocks.0.*", c.lr_scale = "blocks.0.*=2"; }) ==
        "lr_scale \"blocks.0.*\", expected a pattern that matches a parameter, such as "
        "embedding.weight");
  CHECK(refused([](auto& c) { c.mem_len = -1; }) == "trainer: mem_len -1, expected at least 0");
  CHECK(refused([](auto& c) { c.ext_len = -1; }) == "trainer: ext_len -1, expected at least 0");
  CHECK(refused([](auto& c) { c.ext_len = 1, c.batches = BatchType::blocks, c.mem_len = 0; }) ==
        "trainer: ext_len needs batches \"streams\"");
  CHECK(refused([](auto& c) { c.block_step = 2; }) ==
        "trainer: block_step needs batches \"blocks\"");
  CHECK(refused([](auto& c) { c.loss_tokens = 9; }) ==
        "trainer: loss_tokens 9, expected at most block_size 8");
  Random random;
  AuxiliaryLosses auxiliary({.targets = 2}, model.traits(), random);
  auto refused_with_auxiliary = [&](int64_t ext_len, int64_t loss_tokens) {
    TrainerConfig config = streams(0);
    config.ext_len = ext_len;
    config.loss_tokens = loss_tokens;
    return refusal([&] { Trainer(model, text, {}, config, alone(), &auxiliary); });
  };
  CHECK(refused_with_auxiliary(2, 0) == "trainer: ext_len with auxiliary losses");
  CHECK(refused_with_auxiliary(0, 2) == "trainer: loss_tokens with auxiliary losses");
  CHECK(refused([](auto& c) { c.grad_clip = std::nan(""); }) ==
        "trainer: grad_clip nan, expected at least 0");
  CHECK(refused([](auto& c) { c.batch_size = 50; }) ==
        "ParallelStreams: the text has 100 tokens, too few for batch_size = 50 streams of "
        "block_size + 1 = 9; lower batch_size or block_size");
  CHECK(refusal([&] { Trainer(model, text, random_text(1, 7), streams(0)); }) ==
        "trainer: a validation text of 1 tokens, expected at least 2");
}
