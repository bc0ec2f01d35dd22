// Language models over every variant learn what their mechanism is there for, and do not learn it
// without the mechanism. Each task is tiny, drawn anew for each step, and scored only where it has
// an answer. The bounds are far enough from what is reached for other seeds to do.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "examples/studies/claims/causal_convolution.h"
#include "tests/support/learner.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

double trained_loss(const Learner& learner, const LearningTask& task, int64_t steps) {
  return loss(train(learner, task, steps), learner, task);
}

Learner learner_with(const std::string& type, const std::string& options = "",
                     const std::string& of_model = "") {
  return {R"("mixer": {"type": ")" + type + '"' + (options.empty() ? "" : ", ") + options + "}" +
          (of_model.empty() ? "" : ", ") + of_model};
}

Learner attention(const std::string& options = "", const std::string& of_model = "") {
  return learner_with("multi_head_attention", options, of_model);
}

Learner aft(const std::string& options) { return learner_with("aft", options); }

Learner local_rnn(const std::string& cell, int64_t window) {
  return learner_with("local_rnn", text(R"("cell": ")", cell, R"(", "window": )", window));
}

Learner convolution(int64_t window) {
  Learner learner = local_rnn("rnn", window);
  learner.mixer = [window](int64_t d_model, Random& random) {
    return std::make_unique<CausalConvolution>(d_model, window, random);
  };
  return learner;
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
  return learner_with("relative_multi_head_attention", text(R"("max_positions": )", max_positions));
}

Learner music(int64_t max_seq) {
  return learner_with("relative_global_attention", text(R"("max_seq": )", max_seq));
}

Learner shaw(int64_t max_distance) {
  return learner_with("shaw_attention", text(R"("max_distance": )", max_distance));
}

Learner transformer_xl() { return learner_with("transformer_xl_attention"); }

Learner learned_transformer_xl(int64_t max_positions) {
  return learner_with("transformer_xl_attention",
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
  LearningTask task;
  Learner learner;
  std::vector<Learner> controls;
  int64_t steps = 300;
  double reaches = good;
  double controls_stay_above = bad;
};

LearningTask order() { return copy(3, 16); }

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
  const LearningTask far = copy(11, 40);
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
      // A convolution of the same window sees as much, but has to learn each of its orders.
      {newest_marked_within(16, 32), local_rnn(cell, 16), {convolution(16)}, 300, 0.02, 0.1},
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
double loss_when_longer(const Learner& learner, LearningTask task, int64_t steps = 300) {
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
