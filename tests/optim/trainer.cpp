#include "optim/trainer.h"

#include <cmath>
#include <thread>

#include "core/machine/parallel.h"
#include "core/tape.h"
#include "examples/claims/auxiliary_losses.h"
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
using claims::AuxiliaryLosses;
using claims::AuxiliaryLossesConfig;

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
  outcome.validation = trainer.evaluate().validation.nats;
  return outcome;
}

}  // namespace

namespace {

using test::OwnModel;

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
    CHECK(trainer.evaluate().validation.nats < 0.2);
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

TEST_CASE("trainer: with weights that stand still, one stream's losses are an evaluation's") {
  LanguageModel relative = loud_model(small_transformer_xl());
  LanguageModelConfig sinusoid = small_transformer_xl();
  sinusoid.mixer = MultiHeadAttentionConfig{};
  sinusoid.position = TokenPosition::sinusoid;
  LanguageModel absolute = loud_model(sinusoid), learned = loud_model(small_transformer(13));
  std::vector<int32_t> text = random_text(60, 7);
  TrainerConfig config = streams(11);
  config.batch_size = 1;
  config.learning_rate = config.min_lr = 0;
  struct Lengths {
    LanguageModel& model;
    int64_t mem_len, ext_len;
  };
  for (Lengths lengths : std::vector<Lengths>{{relative, 11, 0},
                                              {relative, 11, 3},
                                              {relative, 5, 8},
                                              {relative, 4, 20},
                                              {relative, 0, 5},
                                              {absolute, 0, 0},
                                              {absolute, 0, 5},
                                              {learned, 0, 5}}) {
    LanguageModel& model = lengths.model;
    int64_t mem_len = lengths.mem_len, ext_len = lengths.ext_len;
    CAPTURE(mem_len);
    CAPTURE(ext_len);
    config.mem_len = mem_len;
    config.ext_len = ext_len;
    Trainer trainer(model, text, {}, config);
    for (int pass = 0; pass < 2; ++pass) {
      double total = 0;
      int64_t tokens = 0;
      while (tokens < 59) {
        StepReport report = trainer.step();
        total += report.loss * static_cast<double>(report.tokens);
        tokens += report.tokens;
      }
      double expected =
          evaluate(model, text, {.tgt_len = 8, .mem_len = mem_len, .ext_len = ext_len}).nats;
      CHECK(total / 59 == doctest::Approx(expected).epsilon(1e-5));
    }
  }
}

TEST_CASE("trainer: tokens fed again carry gradients, and the loss is about the last ones") {
  std::vector<int32_t> text = random_text(92, 7);  // four streams of 23: batches of 8, 8, 6
  TrainerConfig config = streams(5);
  config.ext_len = 3;
  config.loss_tokens = 7;
  LanguageModel trained = loud_model(small_transformer_xl());
  Trainer trainer(trained, text, {}, config);

  LanguageModel model = loud_model(small_transformer_xl());
  Context context;
  Memory memory;
  for (int64_t begin = 0; begin < 22; begin += 8) {
    load_state_dict(model, state_dict(trained), "trained");
    for (const Parameter& parameter : parameters(model)) parameter.value.zero_gradient();
    int64_t again = begin == 0 ? 0 : 3, length = std::min<int64_t>(8, 22 - begin);
    int64_t scored = std::min<int64_t>(7, length), skipped = again + length - scored;
    Tokens inputs{{4, again + length}, {}}, targets{{4, scored}, {}};
    for (int64_t b = 0; b < 4; ++b) {
      for (int64_t n = -again; n < length; ++n) inputs.values.push_back(text[b * 23 + begin + n]);
      for (int64_t n = length - scored; n < length; ++n)
        targets.values.push_back(text[b * 23 + begin + n + 1]);
    }
    Tape tape;
    auto [logits, block_inputs, features] = model(inputs, memory, context);
    Tensor loss = cross_entropy(slice(logits, 1, skipped, skipped + scored), targets);
    tape.backward(loss);
    for (Tensor& layer : block_inputs) layer = slice(layer, 1, 0, layer.size(1) - 3);
    memory = remember(memory, block_inputs, 5);

    StepReport report = trainer.step();
    CHECK(report.tokens == 4 * scored);
    CHECK(report.loss == static_cast<double>(loss.item()));
    CHECK(report.gradient_norm == gradient_norm(parameters(model)));
  }
}

TEST_CASE("trainer: memory is of the length asked for, constant, and forgotten at the start") {
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(100, 7);  // four streams of 25: batches of 8, 8, 8
  Trainer trainer(model, text, {}, streams(11));
  for (int64_t length : {8, 11, 11, 8, 11}) {
    trainer.step();
    const Memory& memory = trainer.memory();
    REQUIRE(memory.size() == 2);
    for (const Tensor& layer : memory) {
      CHECK(layer.shape() == Dims{4, length, 16});
      CHECK(!layer.requires_gradient());
      CHECK(!layer.gradient().defined());
    }
  }
}

TEST_CASE("trainer: gradients stop at the memory") {
  LanguageModel model = loud_model(small_transformer_xl());
  Tokens earlier{{1, 4}, {0, 1, 2, 3}}, inputs{{1, 3}, {4, 5, 6}}, targets{{1, 3}, {5, 6, 0}};
  auto gradients = [&](bool of_raw_values) {
    Context context;
    Tape tape;
    Memory memory = remember({}, model(earlier, {}, context).block_inputs, 4);
    if (of_raw_values)
      for (Tensor& layer : memory) layer = Tensor::from(layer.shape(), layer.values());
    for (const Parameter& parameter : parameters(model)) parameter.value.zero_gradient();
    tape.backward(cross_entropy(model(inputs, memory, context).logits, targets));
    std::vector<std::vector<Scalar>> all;
    for (const Parameter& parameter : parameters(model))
      all.push_back(parameter.value.gradient().values());
    return all;
  };
  CHECK(gradients(false) == gradients(true));
}

TEST_CASE("trainer: N accumulated batches of blocks are one of N times the rows") {
  std::vector<int32_t> text = random_text(500, 7);
  auto run = [&](int64_t rows, int64_t accumulated) {
    TrainerConfig config = blocks();
    config.batch_size = rows;
    config.gradient_accumulation_steps = accumulated;
    config.optimizer = OptimizerType::sgd;
    config.grad_clip = 0;
    LanguageModel model = loud_model(small_transformer(8));
    Trainer trainer(model, text, {}, config);
    std::vector<double> figures;
    for (int n = 0; n < 3; ++n) {
      StepReport report = trainer.step();
      CHECK(report.tokens == 6 * 8);
      figures.insert(figures.end(), {report.loss, report.gradient_norm});
    }
    for (Scalar weight : model.stack.embedding.weight.values()) figures.push_back(weight);
    return figures;
  };
  std::vector<double> whole = run(6, 1);
  for (int64_t accumulated : {2, 3, 6}) {
    std::vector<double> parts = run(6 / accumulated, accumulated);
    REQUIRE(parts.size() == whole.size());
    for (size_t n = 0; n < whole.size(); ++n)
      CHECK(parts[n] == doctest::Approx(whole[n]).epsilon(1e-4));
  }
}

TEST_CASE("trainer: the number of accumulated batches rises, and streams keep their places") {
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(0);
  config.gradient_accumulation_steps = 3;
  config.batch_warmup_iters = 4;
  LanguageModel model = new_model(small_transformer_xl());
  Trainer trainer(model, text, {}, config);
  int64_t position = 0;
  for (int64_t batches : {1, 2, 2, 3, 3, 3}) {
    CHECK(trainer.step().tokens == batches * 4 * 8);
    position = (position + batches * 8) % 124;  // of streams of 125
    CHECK(std::get<ParallelStreams>(trainer.batches()).position == position);
  }
}

TEST_CASE("trainer: accumulated batches of streams follow each other, each by its tokens' weight") {
  std::vector<int32_t> text = random_text(100, 7);  // four streams of 25: batches of 8, 8, 8
  text.resize(84);                                  // now of 21: 8, 8, 4
  TrainerConfig config = streams(5);
  config.gradient_accumulation_steps = 4;
  config.grad_clip = 0;
  config.optimizer = OptimizerType::sgd;
  config.momentum = config.weight_decay = 0;
  LanguageModel trained = loud_model(small_transformer_xl());
  Trainer trainer(trained, text, {}, config);

  LanguageModel model = loud_model(small_transformer_xl());
  ParallelStreams batches(text, config.batch_size, config.block_size);
  Memory memory;
  Context context;
  for (int step = 0; step < 3; ++step) {
    Tape tape;
    Tensor total = Tensor::zeros({});
    int64_t tokens = 0;
    for (int n = 0; n < 4; ++n) {
      Batch batch = batches.next();
      if (batch.starts_over) memory.clear();
      auto [logits, block_inputs, features] = model(batch.inputs, memory, context);
      memory = remember(memory, block_inputs, 5);
      int64_t count = std::ssize(batch.targets.values);
      total = total + scale(cross_entropy(logits, batch.targets), static_cast<Scalar>(count));
      tokens += count;
    }
    Tensor mean = scale(total, Scalar(1) / static_cast<Scalar>(tokens));
    for (const Parameter& parameter : parameters(model)) parameter.value.zero_gradient();
    tape.backward(mean);
    StepReport report = trainer.step();
    CHECK(report.tokens == tokens);
    CHECK(report.loss == doctest::Approx(mean.item()).epsilon(1e-5));
    CHECK(report.gradient_norm == doctest::Approx(gradient_norm(parameters(model))).epsilon(1e-4));
    load_state_dict(model, state_dict(trained), "trained");
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

TEST_CASE("trainer: frozen parameters stay, and the others learn as they would beside constants") {
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(8);
  config.freeze = "embedding.*,blocks.0.*";
  LanguageModel model = loud_model(small_transformer_xl());
  auto before = state_dict(model);
  Trainer trainer(model, text, {}, config);
  for (int n = 0; n < 3; ++n) trainer.step();
  for (const auto& [name, tensor] : state_dict(model)) {
    bool frozen = name.starts_with("embedding.") || name.starts_with("blocks.0.");
    CHECK((tensor == before.at(name)) == frozen);
  }
  double norm = trainer.step().gradient_norm;
  double total = 0;
  for (const Parameter& parameter : trainer.state().optimizer.parameters())
    for (Scalar value : parameter.value.gradient().values()) total += value * value;
  CHECK(std::sqrt(total) == doctest::Approx(std::min(norm, config.grad_clip)).epsilon(1e-3));
}

TEST_CASE("trainer: frozen parameters get no gradient, and the others' have the bits they had") {
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(8);
  config.grad_clip = 0;
  auto gradients = [&](const std::string& frozen) {
    config.freeze = frozen;
    LanguageModel model = loud_model(small_transformer_xl());
    Trainer trainer(model, text, {}, config);
    trainer.step();
    std::map<std::string, std::vector<Scalar>> result;
    for (const Parameter& parameter : parameters(model))
      if (Tensor gradient = parameter.value.gradient(); gradient.defined())
        result[parameter.name] = gradient.values();
    return result;
  };
  auto all = gradients("");
  for (const char* frozen : {"embedding.*,blocks.0.*", "blocks.1.*", "*.bias", "*position*"}) {
    CAPTURE(frozen);
    auto some = gradients(frozen);
    CHECK(some.size() < all.size());
    for (const auto& entry : some) {
      CAPTURE(entry.first);
      CHECK(entry.second == all.at(entry.first));
    }
  }
  // What was frozen in one training learns in the next.
  LanguageModel model = loud_model(small_transformer_xl());
  config.freeze = "blocks.*";
  Trainer(model, text, {}, config).step();
  CHECK(!parameters(*model.stack.blocks[0])[0].value.gradient().defined());
  config.freeze = "";
  Trainer(model, text, {}, config).step();
  CHECK(parameters(*model.stack.blocks[0])[0].value.gradient().defined());
}

TEST_CASE("trainer: parameters so named learn at a rate of their own") {
  std::vector<int32_t> text = random_text(500, 7);
  auto weights = [&](const std::string& lr_scale, double rate) {
    TrainerConfig config = streams(8);
    config.learning_rate = rate;
    config.lr_scale = lr_scale;
    LanguageModel model = loud_model(small_transformer_xl());
    Trainer(model, text, {}, config).step();
    return state_dict(model);
  };
  auto plain = weights("", 0.01), fast = weights("", 0.02);
  for (const auto& entry : weights("*=9,*=1,blocks.0.*=2", 0.01)) {
    const std::string& name = entry.first;
    CAPTURE(name);
    CHECK(entry.second == (name.starts_with("blocks.0.") ? fast : plain).at(name));
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
        "ParallelStreams: the text has 100 tokens, too few for 50 streams of block_size + 1 = 9");
  CHECK(refusal([&] { Trainer(model, text, random_text(1, 7), streams(0)); }) ==
        "trainer: a validation text of 1 tokens, expected at least 2");
}
