#pragma once

// The training of any module, described by functions: of what a step learns, and how well the model
// does. For several processes, or a step of several backward passes, derive from TrainingLoop.
//
//     TaskTraining training(
//         model, AdamW{}, {.batch_size = 16, .max_iters = 1000},
//         {.loss = [&](Context& context) { return mse_loss(model(x, context), y); },
//          .scores = [&] { return std::pair(score(model, train), score(model, validation)); }});
//     training.run({.on_evaluation = [&](const EvaluationReport& report) {
//       if (report.best) save(model, path);
//     }});

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "nn/module.h"
#include "optim/training_loop.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What is trained.
struct Task {
  /// Returns the loss of the next batch, of shape []. It draws random numbers from context.random,
  /// so that a resumed training draws the same.
  std::function<Tensor(Context& context)> loss{};
  /// Returns the scores of the training data and of the validation data; `nats` is any number that
  /// is lower for a better model.
  std::function<std::pair<Evaluation, Evaluation>()> scores{};
  /// Writes or reads the place in the data, such as Epochs::visit; empty where there is none.
  std::function<void(SavedState& saved)> visit_state{};
  /// What tells the data from others, by name. A training resumes on its own data alone.
  std::map<std::string, Fingerprint> data{};
};

/// The training of a Task. A step counts as `batch_size` tokens in its report. PyTorch: Lightning's
/// Trainer, or Hugging Face's with a compute_loss.
class TaskTraining : public TrainingLoop {
 public:
  /// Sets up the training of all parameters of the model. Throws, naming the field, when one of the
  /// config or the rule is out of range, and when the task has no `loss` or no `scores`.
  TaskTraining(const Module& model, const UpdateRule& rule, const LoopConfig& config, Task task);

 private:
  int64_t learn(Context& context) override;
  std::pair<Evaluation, Evaluation> scores(const EvaluationProgress& progress) const override;
  void visit_state(SavedState& saved) override;

  Task task_;
  int64_t batch_size_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
