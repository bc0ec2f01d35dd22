// Steps whose gradient is that of several batches.

#include "core/tape.h"
#include "nn/state_dict.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"
#include "optim/clip.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;

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
    for (Scalar weight : model.embedding.weight.values()) figures.push_back(weight);
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
