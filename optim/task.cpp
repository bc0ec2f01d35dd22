#include "optim/task.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TaskTraining::TaskTraining(const Module& model, const UpdateRule& rule, const LoopConfig& config,
                           Task task)
    : TrainingLoop(config, parameters(model), Optimizer(parameters(model), rule), task.data,
                   alone()),
      task_(std::move(task)),
      batch_size_(config.batch_size) {
  require(task_.loss && task_.scores, "task: without ", task_.loss ? "scores" : "a loss",
          ", expected a function");
}

int64_t TaskTraining::learn(Context& context) {
  Tape tape;
  Tensor loss = task_.loss(context);
  backward(tape, loss, loss, 1);
  return batch_size_;
}

std::pair<Evaluation, Evaluation> TaskTraining::scores(const EvaluationProgress&) const {
  return task_.scores();
}

void TaskTraining::visit_state(SavedState& saved) {
  if (task_.visit_state) task_.visit_state(saved);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
