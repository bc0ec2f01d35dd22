#pragma once

// The part of training that is the same for every model and all data.
//
//     step -> evaluation, when due -> save, when due
//
// Every step goes: gradients -> their sum over all peers -> clip -> update. What is trained is a
// task.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tape.h"
#include "nn/context.h"
#include "optim/evaluate.h"
#include "optim/fingerprint.h"
#include "optim/peers/gradient_reducer.h"
#include "optim/peers/peer_consistency.h"
#include "optim/peers/process_group.h"
#include "optim/rate_function.h"
#include "optim/schedule.h"
#include "optim/trainer_config.h"
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
  /// The learning rate of the update.
  double learning_rate = 0;
  /// Number of tokens trained on in this step.
  int64_t tokens = 0;
  /// How long the step took.
  double seconds = 0;
  /// The part of `seconds` spent waiting for other peers' gradients.
  double waiting_seconds = 0;
};

/// What one evaluation during training found.
struct EvaluationReport {
  /// Number of updates made.
  int64_t step = 0;
  /// The scores of the training data and of the validation data.
  Evaluation train{}, validation{};
  /// Whether the validation loss is the lowest so far.
  bool best = false;
};

/// Functions that the loop calls. Each may be empty.
struct TrainerCallbacks {
  /// The loop calls this after each step, before all others.
  std::function<void(const StepReport&)> on_step{};
  /// The loop calls this during an evaluation.
  EvaluationProgress on_evaluation_progress{};
  /// The loop calls this after an evaluation. It is the place to save the best weights so far.
  std::function<void(const EvaluationReport&)> on_evaluation{};
  /// The loop calls this when a save is due, after the step and its evaluation if it has one. It is
  /// the place to save what the run can resume from.
  std::function<void()> on_save{};
  /// The loop calls this after each step, and after each batch of an evaluation or, in a Trainer,
  /// of a step that has several. `true` ends the run with a save, but without another evaluation.
  /// The step or the evaluation that was under way is made anew when the run goes on.
  std::function<bool()> should_stop{};
};

/// Settings of the loop, which the config of every task has. `fields` describes each.
struct LoopConfig {
  /// The learning rate by step. A decay without an end of its own ends at max_iters.
  Schedule schedule{};
  /// What gives the learning rate in place of the schedule, unless it is empty.
  RateFunction rate{};
  int64_t batch_size = 1;
  int64_t max_iters = 2000;
  int64_t eval_interval = 250;
  int64_t save_interval = 0;
  int64_t patience = 0;
  double grad_clip = 0;
  uint64_t seed = 0;

  /// Calls field(value, {name, help, quantity}) for each setting.
  template <class Field>
  void fields(Field&& field) {
    field(batch_size, {"batch_size", "rows in a batch", {"ROWS", range::one_or_more}});
    field(max_iters, max_iters_field());
    schedule.fields(field);
    pace_fields(*this, field);
  }
};

/// Returns Adam or AdamW with the settings of a config.
template <class Rule, class Config>
Rule adam_of(const Config& config) {
  return {.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
}

/// Returns the length of the training that schedules use.
template <class Config>
int64_t training_iters(const Config& config) {
  return config.lr_decay_iters > 0 ? config.lr_decay_iters : config.max_iters;
}

/// Returns the loop settings of a checked config, for a model of width `d_model`: each field that
/// both have by one name.
template <class Config>
LoopConfig loop_config(Config config, int64_t d_model) {
  LoopConfig loop{.schedule = {.type = config.schedule, .d_model = d_model}};
  loop.fields([&]<class Value>(Value& value, const Field& field) {
    if (const Value* same = find_field<Value>(config, field.name)) value = *same;
  });
  loop.schedule.lr_decay_iters = training_iters(config);
  return loop;
}

/// The training of a task: a model, its data, and how it learns from them. What is the same for
/// every task is here, and a task derives from it. All peers have the same model, data and config
/// and make the same calls. Each takes its rows of each batch, and results cover the whole batch.
class TrainingLoop {
 public:
  virtual ~TrainingLoop() = default;

  /// Makes one update. Throws, and leaves the weights as they were, when the loss or the gradient's
  /// norm is not finite, or the rate is no number from 0 on.
  StepReport step();
  /// Scores the training data, then the validation data, each with its own progress. Throws when a
  /// loss is not finite.
  EvaluationReport evaluation(const EvaluationProgress& progress = {});

  /// Trains until max_iters or the end of patience, with an evaluation every eval_interval steps
  /// and at the end. It first makes the evaluation in which the run was stopped, if it was.
  void run(const TrainerCallbacks& callbacks = {});

  /// Whether the last `patience` evaluations were no better than the best.
  bool out_of_patience() const;

  /// Returns everything that another process needs, beside the config and the model's weights, to
  /// continue with the same bits: the state, that of the task, and fingerprints of the data.
  std::map<std::string, StoredTensor> saved();
  /// Returns the same, where the values of tensors are those of the training itself (stored_view),
  /// to be written before its next step.
  std::map<std::string, StoredTensor> saved_view();
  /// Continues from what another trainer saved; this model already has that one's weights. Throws
  /// an error that names `source`, and leaves the state as it was, when the saved state does not
  /// fit the model and the config, or when the data differ. A disk that fails while the values are
  /// read throws, too, and leaves some of them read.
  void resume(std::map<std::string, StoredTensor> saved, const std::string& source);

  /// Throws unless all peers begin with the same data, config, weights and state. Call it before
  /// the first step, and before anything is written.
  void check_peers();

  /// What changes from step to step.
  const TrainerState& state() const { return state_; }

 protected:
  /// Sets up the training. While a step runs, the parameters that the optimizer updates require a
  /// gradient, and the others of `all` do not; between steps each does as it did before, so any
  /// number of trainings may have one model in turn. `data` are the fingerprints of the data by
  /// name. Throws, naming the field, when one of the config is out of range, and when there are
  /// fewer rows in a batch than peers.
  TrainingLoop(LoopConfig config, std::vector<Parameter> all, Optimizer optimizer,
               std::map<std::string, Fingerprint> data, ProcessGroup& peers);

  /// Takes the batches of an update and runs this peer's rows of each forward, with the context,
  /// and `backward`, at least once. Returns the number of tokens in all rows of all batches.
  virtual int64_t learn(Context& context) = 0;
  /// Scores the training data, then the validation data. It calls `progress` after each batch, and
  /// ends as soon as that throws. With several peers, `sums` or mean_over adds up what they found.
  virtual std::pair<Evaluation, Evaluation> scores(const EvaluationProgress& progress) const = 0;
  /// Writes or reads the place in the data, and whatever else of the task changes from step to
  /// step. What it reads replaces the state only once nothing was refused. Tensors of a memory,
  /// called memory.0, memory.1, …, may be there or not; all others are there. A task that takes
  /// the same data in each step has none.
  virtual void visit_state(SavedState& /*saved*/) {}
  /// Notes the config and the model, which peers must have in common: unless a task has more to
  /// say, the loop's settings and all parameters. An entry comes before those whose differences it
  /// would explain.
  virtual void note(PeerConsistency& common) const;

  /// Adds the gradients of `objective`, and of what is reported as the loss, with the weight of
  /// this peer's rows in the mean over all tokens. After the `last` call of a step the gradients
  /// are final. Throws unless both have the shape [], and in the first step when the tape has read
  /// a tensor that learns and is not listed.
  void backward(Tape& tape, const Tensor& loss, const Tensor& objective, double weight,
                bool last = true);

  /// Throws WorkLeft on all peers if one of them is asked to stop what `run` does. A task that
  /// calls this between the batches of a step leaves its state as it was before the step.
  void leave_if_asked() const;

  /// The peers that train together.
  ProcessGroup& peers_;

 private:
  /// Makes a step, and the evaluation that is due. Returns false if a peer was asked to stop in one
  /// of them, which then is not made.
  bool advance(const TrainerCallbacks& callbacks);
  bool is_due(int64_t interval) const;
  /// Returns the learning rate of the next update.
  double next_rate();

  LoopConfig config_;
  /// All parameters, frozen ones too. Empty once a step has shown that they are all there are.
  std::vector<Parameter> listed_;
  /// Those that the optimizer does not update.
  std::vector<Parameter> frozen_;
  std::map<std::string, Fingerprint> data_;
  TrainerState state_;
  GradientReducer gradient_reducer_;
  /// The loss of this peer's rows in this step, as far as they have been run.
  std::optional<double> loss_{};
  /// Whether this peer is asked to stop; empty outside of `run`.
  std::function<bool()> asks_{};
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
