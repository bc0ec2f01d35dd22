#pragma once

// The training loop of a sequence model:
//
//     batches -> forward -> losses -> backward -> update -> remember

#include <map>
#include <span>
#include <string>

#include "nn/models/sequence_model.h"
#include "optim/auxiliary_losses.h"
#include "optim/trainer_config.h"
#include "optim/training_loop.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

class Trainer : public TrainingLoop {
 public:
  /// Sets up the training. The model, both texts and the peers must outlive the trainer. From now
  /// on the model's parameters require a gradient, except the frozen ones. Without a validation
  /// text, evaluations score the training text. Throws when the config is bad, naming the field, or
  /// when a text is too short.
  Trainer(SequenceModel& model, std::span<const int32_t> train_text,
          std::span<const int32_t> validation_text, const TrainerConfig& config,
          Peers& peers = alone());

  StepReport step() override;

  /// Scores both texts the way the model is trained: streams with memory, or blocks as chunks.
  EvaluationReport evaluate(const EvaluationProgress& progress = {}) override;

  /// Returns the state's tensors, fingerprints of the texts they belong to, and the weights of
  /// auxiliary losses.
  std::map<std::string, StoredTensor> saved() const override;
  void resume(std::map<std::string, StoredTensor> saved, const std::string& source) override;

  const TrainerConfig& config() const { return config_; }
  TrainerState& state() override { return state_; }
  const TrainerState& state() const override { return state_; }

 private:
  void note(PeerConsistency& common) const override;
  std::vector<Batch> next_batches();
  /// Adds `weight` times the gradients of the batch's losses to the gradients, and returns the main
  /// loss. After the last batch of a step, the gradients are final.
  double accumulate(const Batch& batch, double weight, Memory& memory, Context& context, bool last);
  /// Returns the number of positions of each row that the loss is about.
  int64_t scored_tokens(const Batch& batch) const;
  /// Returns the saved state. Throws as `resume` does.
  TrainerState state_from(std::map<std::string, StoredTensor> saved,
                          const std::string& source) const;

  SequenceModel& model_;
  std::span<const int32_t> train_text_, validation_text_;
  TrainerConfig config_;
  AuxiliaryLosses auxiliary_;
  /// The state of training. Its memory covers this peer's rows only.
  TrainerState state_;
  GradientSums gradient_sums_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
