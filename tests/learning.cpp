// Language models over every variant learn what their mechanism is there for, and do not learn it
// without the mechanism. Each task is tiny, drawn anew for each step, and scored only where it has
// an answer. A loss is in nats a token; guessing one of the 8 values costs ln 8 = 2.08.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/random.h"
#include "core/tape.h"
#include "nn/config.h"
#include "nn/language_model.h"
#include "ops/embedding.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "tests/refusal.h"
#include "tests/support/models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t values = 8, batch_size = 16;
constexpr int32_t no_answer = -1;

/// Tokens, and what is to be said after each of them.
struct Example {
  Tokens inputs, answers;  // [B, T]
};

struct Task {
  int64_t vocabulary = 0, length = 0;
  /// Fills one sequence of tokens and its answers, all `no_answer` before.
  std::function<void(Random&, std::span<int32_t> tokens, std::span<int32_t> answers)> fill;

  Example draw(int64_t B, Random& random) const {
    auto size = static_cast<size_t>(B * length), T = static_cast<size_t>(length);
    Example example{{{B, length}, std::vector<int32_t>(size)},
                    {{B, length}, std::vector<int32_t>(size, no_answer)}};
    for (size_t at = 0; at < size; at += T)
      fill(random, std::span(example.inputs.values).subspan(at, T),
           std::span(example.answers.values).subspan(at, T));
    return example;
  }
};

int32_t any_value(Random& random) { return static_cast<int32_t>(random.below(values)); }

/// Say the token `distance` before this one: needs order.
Task copy(size_t distance, int64_t length) {
  return {values, length, [distance](Random& random, auto tokens, auto answers) {
            for (size_t t = 0; t < tokens.size(); ++t) {
              tokens[t] = any_value(random);
              if (t >= distance) answers[t] = tokens[t - distance];
            }
          }};
}

/// Say the value of the newest token that is marked (a value + 8): needs recency.
Task newest_marked(int64_t length) {
  return {2 * values, length, [](Random& random, auto tokens, auto answers) {
            int32_t newest = no_answer;
            for (size_t t = 0; t < tokens.size(); ++t) {
              int32_t value = any_value(random);
              bool marked = random.below(3) == 0;
              if (marked) newest = value;
              tokens[t] = marked ? value + static_cast<int32_t>(values) : value;
              if (t >= tokens.size() / 2) answers[t] = newest;
            }
          }};
}

/// In the second half, say the value of the one marked token of the first quarter: needs no order,
/// but a long reach.
Task old_marked(int64_t length) {
  return {2 * values, length, [](Random& random, auto tokens, auto answers) {
            for (int32_t& token : tokens) token = any_value(random);
            auto quarter = static_cast<int64_t>(tokens.size() / 4);
            int32_t& marked = tokens[static_cast<size_t>(random.below(quarter))];
            std::fill(answers.begin() + 2 * quarter, answers.end(), marked);
            marked += static_cast<int32_t>(values);
          }};
}

/// All values in some order, then all in another: say what followed this one in the first.
Task induction() {
  auto shuffle = [](Random& random, std::span<int32_t> tokens) {
    std::iota(tokens.begin(), tokens.end(), 0);
    for (size_t n = tokens.size(); n > 1; --n)
      std::swap(tokens[n - 1], tokens[static_cast<size_t>(random.below(static_cast<int64_t>(n)))]);
  };
  return {values, 2 * values, [shuffle](Random& random, auto tokens, auto answers) {
            auto first = tokens.subspan(0, values), second = tokens.subspan(values);
            shuffle(random, first);
            shuffle(random, second);
            for (size_t t = 0; t < values; ++t) {
              auto before = std::find(first.begin(), first.end() - 1, second[t]);
              if (before != first.end() - 1) answers[values + t] = before[1];
            }
          }};
}

/// A model, and how sequences are fed to it: in segments, with so much memory carried along.
struct Learner {
  /// Of a language model, what is not the same for all.
  std::string json;
  int64_t n_head = 4;
  int64_t segment = unlimited, mem_len = 0;

  LanguageModel make(const Task& task, uint64_t seed) const {
    auto config = config_from_json<LanguageModelConfig>("{" + json + "}");
    config.vocab_size = task.vocabulary;
    config.d_model = config.d_inner = 32;
    config.n_layer = 1;
    config.n_head = n_head;
    Random random{.seed = seed};
    return LanguageModel(config, random);
  }
};

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
    std::vector<Tensor> inputs;
    Tape tape;
    Tensor logits = model.forward(part(example.inputs, t, end), memory, context, &inputs);
    Answered answered(logits, part(example.answers, t, end));
    if (!answered.empty()) score(answered, tape);
    if (learner.mem_len > 0) memory = remember(memory, inputs, learner.mem_len);
  }
}

/// The bounds below are far enough from what is reached for other seeds to do.
LanguageModel train(const Learner& learner, const Task& task, int64_t steps, uint64_t seed = 1) {
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

/// The mean loss over sequences that were not trained on.
double loss(const LanguageModel& model, const Learner& learner, const Task& task) {
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

double trained_loss(const Learner& learner, const Task& task, int64_t steps) {
  return loss(train(learner, task, steps), learner, task);
}

Learner with_mixer(const std::string& type, const std::string& options = "",
                   const std::string& of_model = "") {
  return {R"("mixer": {"type": ")" + type + '"' + (options.empty() ? "" : ", ") + options + "}" +
          (of_model.empty() ? "" : ", ") + of_model};
}

Learner attention(const std::string& options = "", const std::string& of_model = "") {
  return with_mixer("multi_head_attention", options, of_model);
}

Learner aft(const std::string& options) { return with_mixer("aft", options); }

Learner local_rnn(const std::string& cell, int64_t window) {
  return with_mixer("local_rnn", text(R"("cell": ")", cell, R"(", "window": )", window));
}

Learner r_transformer(const std::string& cell) {
  return {R"("block": "r_transformer_block", "window": 2, "cell": ")" + cell + '"'};
}

/// The same model with another number of heads.
Learner heads(Learner learner, int64_t n_head) {
  learner.n_head = n_head;
  return learner;
}

/// The same model, fed in segments.
Learner segments(Learner learner, int64_t segment, int64_t mem_len) {
  learner.segment = segment;
  learner.mem_len = mem_len;
  return learner;
}

Learner sinusoid() { return attention("", R"("position": "sinusoid")"); }

Learner learned(int64_t max_len) {
  return attention("", text(R"("position": "learned", "max_len": )", max_len));
}

Learner alibi() { return heads(attention(R"("position": "alibi")"), 8); }

Learner rope() { return attention(R"("position": "rope")"); }

Learner labml(int64_t max_positions) {
  return with_mixer("relative_multi_head_attention", text(R"("max_positions": )", max_positions));
}

Learner music(int64_t max_seq) {
  return with_mixer("relative_global_attention", text(R"("max_seq": )", max_seq));
}

Learner shaw(int64_t max_distance) {
  return with_mixer("shaw_attention", text(R"("max_distance": )", max_distance));
}

Learner transformer_xl() { return with_mixer("transformer_xl_attention"); }

Learner learned_transformer_xl(int64_t max_positions) {
  return with_mixer("transformer_xl_attention",
                    text(R"("positions": "learned", "max_positions": )", max_positions));
}

Learner aft_full(int64_t factor_rank) {
  return aft(text(R"("max_len": 16, "factor_rank": )", factor_rank));
}

Learner aft_local(int64_t window) {
  return aft(text(R"("form": "local", "max_len": 16, "window": )", window));
}

Learner aft_conv(int64_t window) { return aft(text(R"("form": "conv", "window": )", window)); }

Learner aft_simple() { return aft(R"("form": "simple")"); }

/// What counts as learnt, and as not.
constexpr double good = 0.2, bad = 1.2;

/// A model that learns a task, and models of the same size without what it takes.
struct Row {
  Task task;
  Learner learner;
  std::vector<Learner> controls;
  int64_t steps = 300;
  double reaches = good;
  double controls_stay_above = bad;
};

Task order() { return copy(3, 16); }

/// Without positions attention cannot tell the token from the others that it sees.
std::vector<Row> attention_rows() {
  const Learner blind = attention();
  return {
      {order(), rope(), {blind}},
      // A penalty of distance picks no distance, but the nearest of those that content picks.
      {newest_marked(24), alibi(), {heads(blind, 8)}, 300, good, 0.7},
      {order(), learned(16), {blind}},
      {order(), sinusoid(), {blind}, 600},
      {order(), labml(16), {blind}},
      // Behind the window; and with all distances alike.
      {order(), music(16), {music(3), blind}},
      // The distance shares its vector with all beyond it, or with all.
      {order(), shaw(4), {shaw(3), shaw(0)}},
  };
}

/// What is asked for is never in the segment, but always in the memory.
std::vector<Row> memory_rows() {
  const Task far = copy(11, 40);
  auto remembering = [](const Learner& learner) { return segments(learner, 8, 12); };
  auto forgetting = [](const Learner& learner) { return segments(learner, 8, 0); };
  const Learner xl = transformer_xl(), tables = learned_transformer_xl(20);
  return {
      {far, remembering(xl), {forgetting(xl), remembering(attention())}, 150},
      {far, remembering(tables), {forgetting(tables), remembering(attention())}, 150},
      // Absolute positions do it in one pass. In segments, once the memory is full, its newest
      // tokens have the positions of the segment's first.
      {far, learned(40), {remembering(learned(20))}, 150},
  };
}

std::vector<Row> aft_rows() {
  return {
      {order(), aft_full(0), {aft_simple()}},
      // -(t - 3 - t')² is of rank 2, but for what depends on t alone.
      {order(), aft_full(4), {aft_simple(), aft_full(1)}, 300, good, 0.6},
      {order(), aft_local(4), {aft_local(3)}},
      {order(), aft_conv(4), {aft_conv(3)}},
      {old_marked(24), aft_simple(), {attention(R"("window": 6)"), local_rnn("rnn", 6)}},
  };
}

std::vector<Row> recurrent_rows(const std::string& cell) {
  return {
      {order(), local_rnn(cell, 4), {local_rnn(cell, 3)}},
      // The recurrent net gives each token the one before it, and attention finds that one.
      {induction(), r_transformer(cell), {attention(), local_rnn(cell, 2)}, 600},
  };
}

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CAPTURE(row.learner.json);
    CHECK(trained_loss(row.learner, row.task, row.steps) <= row.reaches);
    for (const Learner& control : row.controls) {
      CAPTURE(control.json);
      CAPTURE(control.mem_len);
      CHECK(trained_loss(control, row.task, row.steps) >= row.controls_stay_above);
    }
  }
}

/// What a model trained at the task's length loses at four times that.
double loss_when_longer(const Learner& learner, Task task, int64_t steps = 300) {
  LanguageModel model = train(learner, task, steps);
  task.length *= 4;
  return loss(model, learner, task);
}

}  // namespace

TEST_CASE("attention learns order from its positions, and not without them") {
  check(attention_rows());
}

TEST_CASE("relative attention learns from its memory, absolute positions or no memory do not") {
  check(memory_rows());
}

TEST_CASE("attention free transformers learn what their biases of positions reach") {
  check(aft_rows());
}

TEST_CASE("LocalRNN learns its window, and with attention on top what followed a token before") {
  for (std::string cell : {"rnn", "gru", "lstm"}) check(recurrent_rows(cell));
}

TEST_CASE("what was learnt of distances holds at four times the length, of positions it does not") {
  for (const Learner& relative :
       {shaw(4), transformer_xl(), music(8), aft_conv(4), local_rnn("rnn", 4)}) {
    CAPTURE(relative.json);
    CHECK(loss_when_longer(relative, order()) <= good);
  }
  CHECK(loss_when_longer(alibi(), newest_marked(24)) <= good);
  CHECK(loss_when_longer(aft_simple(), old_marked(24)) <= good);
  CHECK(loss_when_longer(sinusoid(), order(), 600) >= bad);
  CHECK(refusal([] { loss_when_longer(learned(16), order(), 1); }) ==
        "language_model: 64 positions are beyond max_len 16");
}
