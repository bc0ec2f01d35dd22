// A training that is described by functions has the bits of one that derives from the loop.

#include "optim/task.h"

#include <map>
#include <string>
#include <vector>

#include "nn/caches.h"
#include "nn/linear.h"
#include "ops/arithmetic.h"
#include "ops/elementwise.h"
#include "ops/elementwise_loss.h"
#include "optim/epochs.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

const LoopConfig twelve_steps{.schedule = {.learning_rate = 0.1},
                              .batch_size = 4,
                              .max_iters = 12,
                              .eval_interval = 3,
                              .seed = 5};

/// Learns which numbers were added to what it is given, with noise.
struct Line {
  Linear model;
  Tensor x = Tensor::zeros({10, 3});
  Epochs batches{10, 4, 1};

  Line() {
    Random random{.seed = 1};
    model = Linear(3, 1, true, random);
    for (int64_t n = 0; n < x.count(); ++n)
      x.mutable_data()[n] = static_cast<Scalar>(random.normal());
  }
  Tensor loss(Context& context) {
    std::vector<int64_t> batch = batches.next();
    auto noise = static_cast<Scalar>(0.1 * context.random.normal());
    return mse_loss(model(members_of(x, batch)), Tensor::full({std::ssize(batch), 1}, 2 + noise));
  }
  std::pair<Evaluation, Evaluation> scores() const {
    Evaluation found{mse_loss(model(x), Tensor::full({10, 1}, 2)).item(), 10};
    return {found, found};
  }
  Task task() {
    return {.loss = [this](Context& context) { return loss(context); },
            .scores = [this] { return scores(); },
            .visit_state = [this](SavedState& saved) { batches.visit(saved); },
            .data = {{"x", {10, 7, "rows"}}}};
  }
};

struct Derived : TrainingLoop {
  Line& line;

  explicit Derived(Line& of)
      : TrainingLoop(twelve_steps, parameters(of.model), Optimizer(parameters(of.model), AdamW{}),
                     {{"x", {10, 7, "rows"}}}, alone()),
        line(of) {}
  int64_t learn(Context& context) override {
    Tape tape;
    Tensor loss = line.loss(context);
    backward(tape, loss, loss, 1);
    return twelve_steps.batch_size;
  }
  std::pair<Evaluation, Evaluation> scores(const EvaluationProgress&) const override {
    return line.scores();
  }
  void visit_state(SavedState& saved) override { line.batches.visit(saved); }
};

}  // namespace

TEST_CASE("task: trains as a class of its own does") {
  Line line, other;
  TaskTraining training(line.model, AdamW{}, twelve_steps, line.task());
  Derived derived(other);
  std::vector<double> losses, expected;
  training.run({.on_step = [&](const StepReport& r) { losses.push_back(r.loss); }});
  derived.run({.on_step = [&](const StepReport& r) { expected.push_back(r.loss); }});
  CHECK(losses == expected);
  CHECK(losses.size() == 12);
  CHECK(losses.back() < losses.front());
  CHECK(training.saved() == derived.saved());
  CHECK(state_dict(line.model) == state_dict(other.model));
}

TEST_CASE("task: goes on with the same bits from any step") {
  Line whole;
  TaskTraining all(whole.model, AdamW{}, twelve_steps, whole.task());
  all.run();
  for (int64_t stop = 1; stop < 12; ++stop) {
    CAPTURE(stop);
    Line first, second;
    TaskTraining begun(first.model, AdamW{}, twelve_steps, first.task());
    begun.run({.should_stop = [&] { return begun.state().step == stop; }});
    TaskTraining resumed(second.model, AdamW{}, twelve_steps, second.task());
    load_state_dict(second.model, state_dict(first.model), "first");
    resumed.resume(begun.saved(), "file");
    resumed.run();
    CHECK(state_dict(second.model) == state_dict(whole.model));
    CHECK(resumed.saved() == all.saved());
  }
}

TEST_CASE("task: mistakes") {
  Line line;
  auto refused = [&](auto change) {
    Task task = line.task();
    change(task);
    return refusal([&] { TaskTraining(line.model, AdamW{}, twelve_steps, task).run(); });
  };
  CHECK(refused([](Task& task) { task.loss = {}; }) == "task: without a loss, expected a function");
  CHECK(refused([](Task& task) { task.scores = {}; }) ==
        "task: without scores, expected a function");
  CHECK(refused([](Task& task) { task.loss = [](Context&) { return Tensor::zeros({2}); }; }) ==
        "trainer: step 1: a loss of shape [2], expected []");
  TaskTraining training(line.model, AdamW{}, twelve_steps, line.task());
  Task other = line.task();
  other.data = {{"x", {10, 8, "rows"}}};
  CHECK(refusal([&] {
          TaskTraining(line.model, AdamW{}, twelve_steps, other).resume(training.saved(), "file");
        }).starts_with("file: "));
}
