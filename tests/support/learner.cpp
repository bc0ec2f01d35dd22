#include "tests/support/learner.h"

#include "core/tape.h"
#include "nn/models/config.h"
#include "ops/embedding.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "tests/support/models.h"

namespace shiftgrad::test {

namespace {

constexpr int64_t batch_size = 16;

/// The logits of all tokens that have an answer, and the answers.
struct Answered {
  Tensor logits;  // [N, V]
  Tokens answers;

  Answered(const Tensor& all, const Tokens& with_gaps) {
    Tokens rows;
    for (size_t n = 0; n < with_gaps.values.size(); ++n)
      if (with_gaps.values[n] != no_answer) {
        rows.values.push_back(static_cast<int32_t>(n));
        answers.values.push_back(with_gaps.values[n]);
      }
    rows.shape = answers.shape = {static_cast<int64_t>(rows.values.size())};
    if (empty()) return;
    logits = embedding(reshape(all, {all.size(0) * all.size(1), all.size(2)}), rows);
  }

  bool empty() const { return answers.values.empty(); }
};

/// Feeds an example in segments, each behind what is remembered of those before and on a tape of
/// its own, and calls `score` where there are answers.
void feed(const LanguageModel& model, const Learner& learner, const Example& example,
          const std::function<void(const Answered&, Tape&)>& score) {
  int64_t length = example.inputs.shape[1];
  Memory memory;
  Context context;
  for (int64_t t = 0, end = 0; t < length; t = end) {
    end = t + std::min(learner.segment, length - t);
    Tape tape;
    ModelOutput output = model(part(example.inputs, t, end), memory, context);
    Answered answered(output.logits, part(example.answers, t, end));
    if (!answered.empty()) score(answered, tape);
    if (learner.mem_len > 0) memory = remember(memory, output.block_inputs, learner.mem_len);
  }
}

}  // namespace

LanguageModel Learner::make(const LearningTask& task, uint64_t seed) const {
  auto config = config_from_json<LanguageModelConfig>("{" + json + "}");
  config.vocab_size = task.vocabulary;
  config.d_model = config.d_inner = 32;
  config.n_layer = 1;
  config.n_head = n_head;
  Random random{.seed = seed};
  LanguageModel model(config, random);
  if (mixer) model.blocks.layers[0]->parts[0].function = mixer(config.d_model, random);
  return model;
}

LanguageModel train(const Learner& learner, const LearningTask& task, int64_t steps,
                    uint64_t seed) {
  LanguageModel model = learner.make(task, seed);
  Optimizer optimizer(parameters(model), Adam{.beta2 = 0.99});
  Schedule schedule{.learning_rate = 1e-2, .warmup_iters = 20, .lr_decay_iters = steps};
  Random random{.seed = seed, .stream = 1};
  for (int64_t step = 0; step < steps; ++step)
    feed(model, learner, task.draw(batch_size, random), [&](const Answered& answered, Tape& tape) {
      optimizer.zero_gradients();
      tape.backward(cross_entropy(answered.logits, answered.answers));
      clip_gradient_norm(optimizer.parameters(), 1);
      optimizer.step(schedule.at(step));
    });
  return model;
}

double loss(const LanguageModel& model, const Learner& learner, const LearningTask& task) {
  Random random{.seed = 1, .stream = 2};
  double sum = 0, count = 0;
  feed(model, learner, task.draw(64, random), [&](const Answered& answered, const Tape&) {
    for (double token : token_losses(answered.logits, answered.answers)) {
      sum += token;
      count += 1;
    }
  });
  return sum / count;
}

}  // namespace shiftgrad::test
