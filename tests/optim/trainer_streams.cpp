// What a training on streams of text carries from batch to batch: memory, and tokens fed again.

#include "core/tape.h"
#include "nn/state_dict.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/clip.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;

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
