#include "optim/training_loop.h"

#include <cmath>
#include <utility>

#include "core/errors.h"
#include "core/machine/precision.h"
#include "optim/clip.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

using Clock = std::chrono::steady_clock;

TrainingLoop::TrainingLoop(LoopConfig config, Peers& peers)
    : peers_(peers), config_(std::move(config)) {
  config_.schedule.check();
  require(config_.batch_size >= peers.size(), "trainer: batch_size ", config_.batch_size, " for ",
          peers.size(), " peers, expected a row for each");
}

void TrainingLoop::check_peers() const {
  if (peers_.size() == 1) return;
  PeerConsistency common;
  note(common);
  common("precision", product_precision());
  common(saved());
  common.check_same(peers_);
}

StepReport TrainingLoop::begin_step() {
  step_start_ = Clock::now();
  state().optimizer.zero_gradients();
  int64_t done = state().step;
  return {.step = done + 1, .learning_rate = config_.schedule.at(done)};
}

void TrainingLoop::check_listed(const Tape& tape) {
  if (!listed_.empty()) require_listed(tape, listed_);
  listed_.clear();
}

void TrainingLoop::end_step(StepReport& report, GradientSums& gradients, const Context& context) {
  report.waiting_seconds = gradients.finish();
  report.loss = sums(peers_, {report.loss})[0];
  report.gradient_norm = clip_gradient_norm(state().optimizer.parameters(), config_.grad_clip);
  require(std::isfinite(report.loss) && std::isfinite(report.gradient_norm), "trainer: step ",
          report.step, ": loss ", report.loss, ", gradient norm ", report.gradient_norm,
          ": not finite; the weights are those before this step");
  state().optimizer.step(report.learning_rate);
  state().random = context.random;
  state().step = report.step;
  report.seconds = std::chrono::duration<double>(Clock::now() - step_start_).count();
}

EvaluationReport TrainingLoop::report_of(const Evaluation& train, const Evaluation& validation) {
  LoopState& now = state();
  require(std::isfinite(train.nats) && std::isfinite(validation.nats),
          "trainer: evaluation after step ", now.step, ": train loss ", train.nats,
          ", validation loss ", validation.nats, ": not finite");
  bool best = validation.nats < now.best_loss;
  if (best) now.best_loss = validation.nats;
  now.evaluations_since_best = best ? 0 : now.evaluations_since_best + 1;
  return {now.step, train, validation, best};
}

bool TrainingLoop::out_of_patience() const {
  return config_.patience > 0 && state().evaluations_since_best >= config_.patience;
}

void TrainingLoop::run(const TrainerCallbacks& callbacks) {
  auto due = [&](int64_t interval) {
    return state().step % interval == 0 || state().step == config_.max_iters;
  };
  int64_t save_interval = config_.save_interval > 0 ? config_.save_interval : config_.eval_interval;
  while (state().step < config_.max_iters && !out_of_patience()) {
    StepReport report = step();
    if (callbacks.on_step) callbacks.on_step(report);
    if (due(config_.eval_interval)) {
      EvaluationReport scores = evaluate(callbacks.on_evaluation_progress);
      if (callbacks.on_evaluation) callbacks.on_evaluation(scores);
    }
    bool asked = callbacks.should_stop && callbacks.should_stop();
    bool stop = sums(peers_, {asked ? 1.0 : 0.0})[0] > 0;
    if (callbacks.on_save && (stop || out_of_patience() || due(save_interval))) callbacks.on_save();
    if (stop) return;
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
