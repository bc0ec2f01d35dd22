#pragma once

// The training of a sequence model.
//
//     batches -> forward -> losses -> backward -> update -> remember

#include <map>
#include <string>
#include <variant>

#include "nn/models/sequence_model.h"
#include "optim/batches.h"
#include "optim/trainer_config.h"
#include "optim/training_loop.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Losses of training beside that of the next token. Their parameters are trained with the model
/// and saved with the state, under names that begin with `auxiliary.`. An example is in
/// examples/apps/char_lm/auxiliary_losses.h.
struct AuxiliaryLoss : Module {
  /// Returns what to add to the loss of a batch, in an update that follows `step` earlier ones.
  /// It is undefined if there is nothing to add. `targets` [B, T] are the tokens that follow those
  /// of the model's output.
  virtual Tensor operator()(const ModelOutput& output, const Tokens& targets, int64_t step,
                            Context& context) const = 0;
  /// Returns the settings, which all peers must have in common.
  virtual std::string config_text() const = 0;
};

/// Trains a SequenceModel to predict a text.
class Trainer : public TrainingLoop {
 public:
  /// Sets up the training. The model, the peers and the auxiliary loss, which may be null, must
  /// outlive the trainer, and both texts, unless they are given to it to keep. A step trains all
  /// parameters but the frozen ones, whatever other trainers of the model do. Without a validation
  /// text, evaluations score the training text. Throws when the config is bad, naming the field,
  /// when a text is too short, or when the model sees ahead.
  Trainer(SequenceModel& model, const KeptText& train_text, const KeptText& validation_text,
          const TrainerConfig& config, ProcessGroup& peers = alone(),
          const AuxiliaryLoss* auxiliary = nullptr);

  /// The hyperparameters.
  const TrainerConfig& config() const { return config_; }
  /// What `freeze` and `lr_scale` do to tied parameters beyond the names that they match, a line
  /// each.
  std::vector<std::string> notes() const;
  /// The batches, with the place in the text.
  const std::variant<RandomBlocks, ParallelStreams>& batches() const { return batches_; }
  /// The inputs of each block for earlier tokens of this peer's rows.
  const Memory& memory() const { return memory_; }

 private:
  int64_t learn(Context& context) override;
  /// Scores both texts the way the model is trained: streams with memory, or blocks as chunks.
  std::pair<Evaluation, Evaluation> scores(const EvaluationProgress& progress) const override;
  /// Writes or reads
  ///
  ///     blocks           U64 [3], of RandomBlocks: seed, stream, counter
  ///     streams          I64 [1], the position of ParallelStreams
  ///     memory.N         [B, M, C] of block N, where there is a memory
  ///     auxiliary.NAME   a parameter of the auxiliary loss
  void visit_state(SavedState& saved) override;
  void note(PeerConsistency& common) const override;

  std::vector<Batch> next_batches();
  int64_t learn_from(const std::vector<Batch>& batches, Context& context);
  Memory saved_memory(const SavedState& saved) const;

  SequenceModel& model_;
  KeptText train_text_, validation_text_;
  TrainerConfig config_;
  const AuxiliaryLoss* auxiliary_;
  std::variant<RandomBlocks, ParallelStreams> batches_;
  Memory memory_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
