#pragma once

// What is the same in every training, whatever the model and the data:
//
//     step -> evaluation, when due -> save, when due
//
// and in every step: gradients -> their sum over all peers -> clip -> update.

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "shiftgrad/nn/context.h"
#include "shiftgrad/optim/evaluate.h"
#include "shiftgrad/optim/peers/beginning.h"
#include "shiftgrad/optim/peers/gradient_sums.h"
#include "shiftgrad/optim/peers/peers.h"
#include "shiftgrad/optim/schedule.h"
#include "shiftgrad/optim/trainer_state.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Of one update.
struct StepReport {
  /// Updates made, this one among them: 1, 2, …
  int64_t step = 0;
  /// The mean loss of the next tokens in the batch, or in all that made the update, in nats and
  /// before the update; without auxiliary losses.
  double loss = 0;
  /// Before clipping.
  double gradient_norm = 0;
  double learning_rate = 0;
  /// Trained on in this step, and how long that took.
  int64_t tokens = 0;
  double seconds = 0;
  /// Of these, spent waiting for other peers' gradients.
  double waiting_seconds = 0;
};

/// Of one evaluation in a training.
struct EvaluationReport {
  int64_t step = 0;
  Evaluation train, validation;
  /// Whether the validation loss is the lowest so far.
  bool best = false;
};

/// Each may be empty.
struct TrainerCallbacks {
  std::function<void(const StepReport&)> on_step{};
  /// The place to save the weights that are best so far.
  std::function<void(const EvaluationReport&)> on_evaluation{};
  /// The place to save what the run can go on from: after the step, and after its evaluation if it
  /// has one.
  std::function<void()> on_save{};
  /// Asked after each step; `true` ends the run with a save, but without another evaluation.
  std::function<bool()> should_stop{};
};

/// What the loop goes by: fields that every trainer's config has.
struct LoopConfig {
  Schedule schedule;
  int64_t batch_size, max_iters, eval_interval, save_interval, patience;
  double grad_clip;

  /// Throws when one of them is bad, naming the field.
  void check() const;
};

/// The length of the training by which everything is scheduled.
template <class Config>
int64_t training_iters(const Config& config) {
  return config.lr_decay_iters > 0 ? config.lr_decay_iters : config.max_iters;
}

/// That of a trainer of a model so wide.
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

/// A trainer of some model on some data. Of several peers, each has the same model, data and
/// config, makes the same calls, and takes its rows of each batch; what comes out is that of all.
class TrainingLoop {
 public:
  virtual ~TrainingLoop() = default;

  /// One update. Throws, with the weights as they were, when the loss or the gradient's
  /// norm is not finite.
  virtual StepReport step() = 0;
  /// Scores the training data and the validation data. Throws when a loss is not finite.
  virtual EvaluationReport evaluate() = 0;

  /// Steps until max_iters or the end of patience, with an evaluation every eval_interval steps and
  /// at the end.
  void run(const TrainerCallbacks& callbacks);

  /// Whether the last `patience` evaluations were no better than the best.
  bool out_of_patience() const;

  /// All that it takes, beside the config and the model's weights, to go on in another process with
  /// the same bits.
  virtual std::map<std::string, StoredTensor> saved() const = 0;
  /// Goes on from what another trainer saved, whose model now has that one's weights. Throws, in
  /// the name of `source` and with the state as it was, when it does not fit the model and the
  /// config, or the data are others.
  virtual void resume(std::map<std::string, StoredTensor> saved, const std::string& source) = 0;

  /// Throws unless all peers begin with the same data, config, weights and state. To be called
  /// before the first step, and before anything is written.
  void check_peers() const;

  virtual LoopState& state() = 0;
  virtual const LoopState& state() const = 0;

 protected:
  TrainingLoop(LoopConfig config, Peers& peers);

  /// Notes what peers must have in common, what would explain the rest first.
  virtual void begin(Beginning& beginning) const = 0;

  /// The start of a step: no gradients, and the rate at which it will learn.
  StepReport begin_step();
  /// Its end, when `sums` holds the gradients and the report the losses of the own rows: an update,
  /// and the random numbers as the context leaves them.
  void end_step(StepReport& report, GradientSums& sums, const Context& context);
  /// What an evaluation found.
  EvaluationReport judged(const Evaluation& train, const Evaluation& validation);

  Peers& peers_;

 private:
  LoopConfig config_;
  std::chrono::steady_clock::time_point step_start_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
