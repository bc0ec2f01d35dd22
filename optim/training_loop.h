#pragma once

// The part of training that is the same for every model and all data:
//
//     step -> evaluation, when due -> save, when due
//
// Every step goes: gradients -> their sum over all peers -> clip -> update.

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "nn/context.h"
#include "optim/evaluate.h"
#include "optim/peers/gradient_sums.h"
#include "optim/peers/peer_consistency.h"
#include "optim/peers/peers.h"
#include "optim/schedule.h"
#include "optim/trainer_state.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What one update did.
struct StepReport {
  /// Number of updates made, including this one: 1, 2, …
  int64_t step = 0;
  /// Mean loss of the next tokens, in nats and before the update, over all batches that made the
  /// update. Auxiliary losses are not included.
  double loss = 0;
  /// The gradient's norm before clipping.
  double gradient_norm = 0;
  double learning_rate = 0;
  /// Number of tokens trained on in this step, and how long the step took.
  int64_t tokens = 0;
  double seconds = 0;
  /// The part of `seconds` spent waiting for other peers' gradients.
  double waiting_seconds = 0;
};

/// What one evaluation during training found.
struct EvaluationReport {
  int64_t step = 0;
  Evaluation train, validation;
  /// Whether the validation loss is the lowest so far.
  bool best = false;
};

/// Functions that the loop calls. Each may be empty.
struct TrainerCallbacks {
  std::function<void(const StepReport&)> on_step{};
  /// The loop calls this during an evaluation.
  EvaluationProgress on_evaluation_progress{};
  /// The loop calls this after an evaluation. It is the place to save the best weights so far.
  std::function<void(const EvaluationReport&)> on_evaluation{};
  /// The loop calls this when a save is due, after the step and its evaluation if it has one. It is
  /// the place to save what the run can resume from.
  std::function<void()> on_save{};
  /// The loop calls this after each step. `true` ends the run with a save, but without another
  /// evaluation.
  std::function<bool()> should_stop{};
};

/// Settings of the loop, which every trainer's config has.
struct LoopConfig {
  Schedule schedule;
  int64_t batch_size, max_iters, eval_interval, save_interval, patience;
  double grad_clip;
};

/// Returns the length of the training that schedules use.
template <class Config>
int64_t training_iters(const Config& config) {
  return config.lr_decay_iters > 0 ? config.lr_decay_iters : config.max_iters;
}

/// Returns the loop settings of a checked config, for a model of width `d_model`.
template <class Config>
LoopConfig loop_config(const Config& config, int64_t d_model) {
  return {.schedule = {.type = config.schedule,
                       .learning_rate = config.learning_rate,
                       .min_lr = config.min_lr,
                       .warmup_iters = config.warmup_iters,
                       .lr_decay_iters = training_iters(config),
                       .d_model = d_model},
          .batch_size = config.batch_size,
          .max_iters = config.max_iters,
          .eval_interval = config.eval_interval,
          .save_interval = config.save_interval,
          .patience = config.patience,
          .grad_clip = config.grad_clip};
}

/// A trainer of any model on any data. All peers have the same model, data and config and make the
/// same calls. Each takes its rows of each batch, and results cover the whole batch.
class TrainingLoop {
 public:
  virtual ~TrainingLoop() = default;

  /// Makes one update. Throws, and leaves the weights as they were, when the loss or the gradient's
  /// norm is not finite.
  virtual StepReport step() = 0;
  /// Scores the training data, then the validation data, each with its own progress. Throws when a
  /// loss is not finite.
  virtual EvaluationReport evaluate(const EvaluationProgress& progress = {}) = 0;

  /// Trains until max_iters or the end of patience, with an evaluation every eval_interval steps
  /// and at the end.
  void run(const TrainerCallbacks& callbacks = {});

  /// Whether the last `patience` evaluations were no better than the best.
  bool out_of_patience() const;

  /// Returns everything that another process needs, beside the config and the model's weights, to
  /// continue with the same bits.
  virtual std::map<std::string, StoredTensor> saved() const = 0;
  /// Continues from what another trainer saved; this model already has that one's weights. Throws,
  /// in the name of `source`, and leaves the state as it was, when the saved state does not fit the
  /// model and the config, or when the data differ.
  virtual void resume(std::map<std::string, StoredTensor> saved, const std::string& source) = 0;

  /// Throws unless all peers begin with the same data, config, weights and state. Call it before
  /// the first step, and before anything is written.
  void check_peers() const;

  virtual LoopState& state() = 0;
  virtual const LoopState& state() const = 0;

 protected:
  TrainingLoop(LoopConfig config, Peers& peers);

  /// Notes what peers must have in common. An entry comes before those whose differences it would
  /// explain.
  virtual void note(PeerConsistency& common) const = 0;

  /// Throws, in the first step, when the tape has read a tensor that learns and that is not among
  /// `listed_`.
  void check_listed(const Tape& tape);

  /// Starts a step: drops all gradients, and sets the step's learning rate.
  StepReport begin_step();
  /// Ends a step: makes the update, and keeps the random numbers as the context leaves them. `sums`
  /// holds the gradients, and the report the losses of this peer's rows.
  void end_step(StepReport& report, GradientSums& sums, const Context& context);
  /// Returns the report of an evaluation, and remembers the best loss.
  EvaluationReport report_of(const Evaluation& train, const Evaluation& validation);

  Peers& peers_;
  /// All parameters, frozen ones too. Empty once a step has shown that they are all there are.
  std::vector<Parameter> listed_;

 private:
  LoopConfig config_;
  std::chrono::steady_clock::time_point step_start_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
