// The loop that all trainers have, in the training of a language model.

#include "optim/training_loop.h"

#include <algorithm>
#include <cmath>
#include <ios>
#include <limits>
#include <map>
#include <string>

#include "core/accumulate.h"
#include "nn/state_dict.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/refusal.h"
#include "tests/support/slope.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("training loop: reports and evaluates as its config says") {
  LanguageModel model = new_model(small_transformer(8));
  std::vector<int32_t> text = random_text(500, 7), validation = random_text(90, 7, 12);
  TrainerConfig config = blocks();
  config.eval_interval = 8;
  config.eval_iters = 2;
  Trainer trainer(model, text, validation, config);
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  std::vector<int64_t> totals;
  trainer.run({.on_step = [&](const StepReport& report) { steps.push_back(report); },
               .on_evaluation_progress =
                   [&](int64_t done, int64_t total) {
                     if (done == total) totals.push_back(total);
                   },
               .on_evaluation = [&](const EvaluationReport& r) { evaluations.push_back(r); }});
  REQUIRE(steps.size() == 20);
  CHECK(steps[0].step == 1);
  CHECK(steps[0].learning_rate == doctest::Approx(1e-2 / 6));
  CHECK(steps[5].learning_rate == doctest::Approx(1e-2));
  CHECK(steps[0].tokens == 32);
  CHECK(steps[0].gradient_norm > 0);
  CHECK(totals == std::vector<int64_t>(6, 64));
  REQUIRE(evaluations.size() == 3);
  double best = std::numeric_limits<double>::infinity();
  for (size_t n = 0; n < 3; ++n) {
    CHECK(evaluations[n].step == std::vector<int64_t>{8, 16, 20}[n]);
    CHECK(evaluations[n].validation.tokens == 64);
    CHECK(evaluations[n].train.tokens == 64);
    CHECK(evaluations[n].best == (evaluations[n].validation.nats < best));
    best = std::min(best, evaluations[n].validation.nats);
  }
  CHECK(trainer.state().best_loss == best);
}

TEST_CASE("training loop: out of patience, it saves and stops, and does not go on when resumed") {
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(0);
  config.eval_interval = 2;
  config.learning_rate = config.min_lr = 0;
  LanguageModel model = new_model(small_transformer_xl());
  auto last_step = [&](int64_t patience) {
    config.patience = patience;
    Trainer trainer(model, text, {}, config);
    int64_t saved = 0;
    trainer.run({.on_save = [&] { saved = trainer.state().step; }});
    CHECK(saved == trainer.state().step);
    CHECK(trainer.out_of_patience() == (patience > 0));
    Trainer resumed(model, text, {}, config);
    resumed.resume(trainer.saved(), "file");
    resumed.run({});
    CHECK(resumed.state().step == saved);
    return saved;
  };
  // With weights that stand still, the first evaluation is the best.
  CHECK(last_step(0) == 20);
  CHECK(last_step(1) == 4);
  CHECK(last_step(3) == 8);
}

TEST_CASE("training loop: saves after every save_interval, at the end, and when stopped") {
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(500, 7);
  auto saves = [&](int64_t save_interval, int64_t stop) {
    TrainerConfig config = streams(0);
    config.eval_interval = 6;
    config.save_interval = save_interval;
    Trainer trainer(model, text, {}, config);
    std::vector<int64_t> steps;
    trainer.run({.on_evaluation = [&](auto&) { steps.push_back(-trainer.state().step); },
                 .on_save = [&] { steps.push_back(trainer.state().step); },
                 .should_stop = [&] { return trainer.state().step == stop; }});
    return steps;
  };
  CHECK(saves(0, 0) == std::vector<int64_t>{-6, 6, -12, 12, -18, 18, -20, 20});
  CHECK(saves(8, 0) == std::vector<int64_t>{-6, 8, -12, 16, -18, -20, 20});
  CHECK(saves(7, 9) == std::vector<int64_t>{-6, 7, 9});
  CHECK(saves(9, 9) == std::vector<int64_t>{-6, 9});
}

TEST_CASE("training loop: stops when asked") {
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(500, 7);
  Trainer trainer(model, text, {}, streams(0));
  trainer.run({.should_stop = [&] { return trainer.state().step == 3; }});
  CHECK(trainer.state().step == 3);
  trainer.run({});
  CHECK(trainer.state().step == 20);
}

TEST_CASE("training loop: a loss that is not a number stops it and changes no weight") {
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(500, 7);
  Trainer trainer(model, text, {}, streams(0));
  trainer.step();
  model.output.bias.mutable_data()[2] = std::numeric_limits<Scalar>::quiet_NaN();
  std::vector<Scalar> before = model.embedding.weight.values();
  CHECK(refusal([&] { trainer.step(); }) ==
        "trainer: step 2: loss nan, gradient norm nan: not finite; "
        "the weights are those before this step");
  CHECK(model.embedding.weight.values() == before);
  CHECK(trainer.state().step == 1);
  CHECK(refusal([&] { trainer.evaluation(); }) ==
        "trainer: evaluation after step 1: evaluate: a mean loss of nan nats over 499 tokens, "
        "expected a finite one");
}

TEST_CASE("training loop: a gradient that is not finite stops it although the loss is finite") {
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(0);
  for (double grad_clip : {0.0, 1.0}) {
    config.grad_clip = grad_clip;
    struct Overflow : AuxiliaryLoss {
      void visit(Visitor&) const override {}
      std::string config_text() const override { return "overflow"; }
      Tensor operator()(const ModelOutput& output, const Tokens&, int64_t,
                        Context&) const override {
        // Its value is 0, and its gradient has no end.
        Tensor zero = scale(sum(output.logits), 0);
        record(zero, {&output.logits}, [logits = output.logits](const Tensor&) {
          constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
          accumulate(logits.open_gradient(), Tensor::full(logits.shape(), infinity));
        });
        return zero;
      }
    } overflow;
    Trainer trainer(model, text, {}, config, alone(), &overflow);
    std::vector<Scalar> before = model.embedding.weight.values();
    std::string reason = refusal([&] { trainer.step(); });
    CHECK(reason.starts_with("trainer: step 1: loss "));
    CHECK(reason.find("loss nan") == reason.npos);
    CHECK(reason.ends_with(": not finite; the weights are those before this step"));
    CHECK(model.embedding.weight.values() == before);
    CHECK(trainer.state().step == 0);
  }
}

TEST_CASE("training loop: the end of patience is saved off a save step, too") {
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(0);
  config.learning_rate = config.min_lr = 0;
  config.eval_interval = 2;
  config.save_interval = 7;
  config.patience = 1;
  Trainer trainer(model, text, {}, config);
  std::vector<int64_t> saves;
  trainer.run({.on_save = [&] { saves.push_back(trainer.state().step); }});
  CHECK(saves == std::vector<int64_t>{4});
}

TEST_CASE("training loop: a config of one's own is checked, and may leave settings out") {
  auto refused = [](auto change) {
    LoopConfig config{.batch_size = 4, .max_iters = 10};
    change(config);
    return refusal([&] { Slope(config, slope()); });
  };
  CHECK(refused([](auto& c) { c.eval_interval = 0; }) ==
        "trainer: eval_interval 0, expected at least 1");
  CHECK(refused([](auto& c) { c.batch_size = 0; }) == "trainer: batch_size 0, expected at least 1");
  CHECK(refused([](auto& c) { c.max_iters = -1; }) == "trainer: max_iters -1, expected at least 0");
  CHECK(refused([](auto& c) { c.save_interval = -1; }) ==
        "trainer: save_interval -1, expected at least 0");
  CHECK(refused([](auto& c) { c.patience = -1; }) == "trainer: patience -1, expected at least 0");
  CHECK(refused([](auto& c) { c.grad_clip = std::nan(""); }) ==
        "trainer: grad_clip nan, expected at least 0");
  CHECK(refused([](auto& c) { c.schedule.learning_rate = -1; }) ==
        "trainer: learning_rate -1, expected at least 0");
  CHECK(refused([](auto& c) { c.schedule.warmup_iters = -1; }) ==
        "trainer: warmup_iters -1, expected at least 0");

  Slope left_out({.schedule = {.learning_rate = 0.1, .warmup_iters = 4}, .max_iters = 40}, slope());
  int64_t evaluations = 0;
  std::vector<double> rates;
  left_out.run({.on_step = [&](const StepReport& report) { rates.push_back(report.learning_rate); },
                .on_evaluation = [&](const EvaluationReport&) { ++evaluations; }});
  CHECK(evaluations == 1);
  REQUIRE(rates.size() == 40);
  CHECK(rates[4] == 0.1);
  CHECK(rates[22] == doctest::Approx(0.05));  // half way from the rise to max_iters
  CHECK(rates[39] > 0);
  CHECK(left_out.w.item() == doctest::Approx(3).epsilon(0.05));
}

TEST_CASE("training loop: other data are counted as what they are") {
  LoopConfig config;
  auto saved = Slope(config, slope(), {.tokens = 8, .hash = 1}).saved();
  auto refused = [&](const Fingerprint& data) {
    return refusal([&] { Slope(config, slope(), data).resume(saved, "file"); });
  };
  CHECK(refused({.tokens = 9, .hash = 1}) == "file: data: 9 elements, the run's had 8");
  CHECK(refused({.tokens = 8, .hash = 2}) == "file: data: others than the run's 8 elements");
  CHECK(refused({.tokens = 8, .hash = 2, .unit = "bytes"}) ==
        "file: data: others than the run's 8 bytes");
}

TEST_CASE("training loop: two trainings of one's own may have one weight in turn") {
  Tensor w = slope();
  LoopConfig config{.schedule = {.type = ScheduleType::constant, .learning_rate = 0.1}};
  Slope one(config, w), other(config, w);
  for (int n = 0; n < 10; ++n) {
    one.step();
    other.step();
  }
  CHECK(w.item() == doctest::Approx(3).epsilon(0.02));
}

namespace {

/// A model with its training, and what it reported.
struct LoggedRun {
  LanguageModel model = new_model(small_transformer_xl());
  Trainer trainer;
  std::vector<std::string> log{};
  /// What was saved last.
  std::map<std::string, StoredTensor> weights{}, state{};

  LoggedRun(const std::vector<int32_t>& text, const TrainerConfig& config)
      : trainer(model, text, {}, config) {}

  /// Runs until the evaluations have scored this many batches, and returns how many they have.
  int64_t run(int64_t most = std::numeric_limits<int64_t>::max()) {
    int64_t scored = 0;
    trainer.run({.on_evaluation_progress = [&](int64_t, int64_t) { ++scored; },
                 .on_evaluation =
                     [&](const EvaluationReport& report) {
                       log.push_back(shiftgrad::text(report.step, report.best ? " best " : " ",
                                                     std::hexfloat, report.train.nats, ' ',
                                                     report.validation.nats));
                     },
                 .on_save =
                     [&] {
                       weights = state_dict(model);
                       state = trainer.saved();
                     },
                 .should_stop = [&] { return scored >= most; }});
    return scored;
  }
};

}  // namespace

TEST_CASE("training loop: stopped at any batch of an evaluation, it saves, and makes it anew") {
  std::vector<int32_t> text = random_text(150, 7);
  for (int64_t patience : {0, 1})
    for (BatchType batches : {BatchType::streams, BatchType::blocks}) {
      CAPTURE(patience);
      CAPTURE(batches);
      TrainerConfig config = streams(batches == BatchType::streams ? 11 : 0);
      config.batches = batches;
      config.eval_interval = 8;
      config.save_interval = 5;
      config.patience = patience;
      if (patience > 0) config.learning_rate = config.min_lr = 0;
      LoggedRun whole(text, config);
      int64_t all = whole.run();
      REQUIRE(all > 12);
      for (int64_t most = 1; most <= all; ++most) {
        CAPTURE(most);
        LoggedRun first(text, config), second(text, config);
        CHECK(first.run(most) == most);
        CHECK(first.log.size() < whole.log.size());
        CHECK(first.state.contains("evaluation_due"));
        CHECK(first.trainer.state().evaluation_due);
        load_state_dict(second.model, first.weights, "first");
        second.trainer.resume(first.state, "first");
        CHECK(second.trainer.saved() == first.state);
        second.run();
        first.log.insert(first.log.end(), second.log.begin(), second.log.end());
        CHECK(first.log == whole.log);
        CHECK(second.weights == whole.weights);
        CHECK(second.state == whole.state);
        CHECK(!second.state.contains("evaluation_due"));
      }
    }
}

TEST_CASE("training loop: stopped between the batches of a step, it is at the step before") {
  std::vector<int32_t> text = random_text(150, 7);
  for (BatchType batches : {BatchType::streams, BatchType::blocks}) {
    CAPTURE(batches);
    TrainerConfig config = streams(batches == BatchType::streams ? 11 : 0);
    config.batches = batches;
    config.gradient_accumulation_steps = 3;
    LoggedRun whole(text, config), first(text, config), second(text, config);
    whole.run();
    // It asks twice in a step, and once after it.
    int64_t asked = 0;
    first.trainer.run({.on_save =
                           [&] {
                             first.weights = state_dict(first.model);
                             first.state = first.trainer.saved();
                           },
                       .should_stop = [&] { return ++asked == 3 * 7 + 2; }});
    CHECK(first.trainer.state().step == 7);
    CHECK(!first.trainer.state().evaluation_due);
    LoggedRun seven(text, config);
    for (int64_t step = 0; step < 7; ++step) seven.trainer.step();
    CHECK(first.state == seven.trainer.saved());
    load_state_dict(second.model, first.weights, "first");
    second.trainer.resume(first.state, "first");
    second.run();
    CHECK(second.log == whole.log);
    CHECK(second.weights == whole.weights);
    CHECK(second.state == whole.state);
    // Outside of a run nobody is asked.
    first.trainer.step();
    CHECK(asked == 3 * 7 + 2);
  }
}

TEST_CASE("training loop: a step or an evaluation makes up for the one that was left") {
  std::vector<int32_t> text = random_text(150, 7);
  for (bool steps : {true, false}) {
    TrainerConfig config = streams(0);
    config.eval_interval = 8;
    LoggedRun run(text, config);
    run.run(1);
    REQUIRE(run.trainer.state().evaluation_due);
    if (steps)
      run.trainer.step();
    else
      run.trainer.evaluation();
    CHECK(!run.trainer.state().evaluation_due);
    CHECK(!run.trainer.saved().contains("evaluation_due"));
  }
}
