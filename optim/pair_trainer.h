#pragma once

// The training loop of an encoder-decoder:
//
//     batch -> forward -> loss, its labels smoothed -> backward -> update

#include <map>
#include <span>
#include <string>

#include "shiftgrad/optim/pairs.h"
#include "shiftgrad/optim/training_loop.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Its fields are TrainerConfig's, where that has them.
struct PairTrainerConfig {
  /// Pairs of a batch.
  int64_t batch_size = 64;
  int64_t max_iters = 2000;
  double learning_rate = 1e-3;
  double min_lr = 1e-5;
  int64_t warmup_iters = 100;
  /// 0: max_iters.
  int64_t lr_decay_iters = 0;
  /// One of Schedule's; `noam` is the paper's.
  std::string schedule = "cosine";
  /// Of AdamW.
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double grad_clip = 1;
  /// ε of cross_entropy, in training only.
  double label_smoothing = 0.1;
  int64_t eval_interval = 250;
  /// An evaluation scores so many pairs of each set, evenly spaced; 0: all.
  int64_t eval_pairs = 1000;
  int64_t save_interval = 0;
  int64_t patience = 0;
  uint64_t seed = 1337;

  /// Throws when a field is bad that the loop does not know, naming it.
  void check() const;

  template <class Fields>
  void fields(Fields& field) {
    field("batch_size", batch_size);
    field("max_iters", max_iters);
    field("learning_rate", learning_rate);
    field("min_lr", min_lr);
    field("warmup_iters", warmup_iters);
    field("lr_decay_iters", lr_decay_iters);
    field("schedule", schedule);
    field("weight_decay", weight_decay);
    field("beta1", beta1);
    field("beta2", beta2);
    field("grad_clip", grad_clip);
    field("label_smoothing", label_smoothing);
    field("eval_interval", eval_interval);
    field("eval_pairs", eval_pairs);
    field("save_interval", save_interval);
    field("patience", patience);
    field("seed", seed);
  }
};

/// What changes from step to step in the training of an encoder-decoder.
struct PairTrainerState : LoopState {
  PairBatches batches;
};

/// -log p of each target token and end, the mean over all of them. Of several peers, each scores
/// its share of the batches, and all get the mean over all.
Evaluation evaluate(const EncoderDecoder& model, std::span<const TokenPair> pairs,
                    const TargetEnds& ends, int64_t batch_size, Peers& peers = alone());

class PairTrainer : public TrainingLoop {
 public:
  /// The model, both sets and the peers must outlive the trainer. Without validation pairs,
  /// evaluations score the training pairs. Throws when the config is bad, naming the field, or
  /// there is no pair to train on.
  PairTrainer(EncoderDecoder& model, std::span<const TokenPair> train,
              std::span<const TokenPair> validation, const TargetEnds& ends,
              const PairTrainerConfig& config, Peers& peers = alone());

  StepReport step() override;

  /// `eval_pairs` of either set, without label smoothing.
  EvaluationReport evaluate() override;

  /// The loop's state, and
  ///
  ///     batches                         I64 [2]: epoch, and batches of it that were given
  ///     train_pairs, validation_pairs   which data they belong to
  std::map<std::string, StoredTensor> saved() const override;
  void resume(std::map<std::string, StoredTensor> saved, const std::string& source) override;

  PairTrainerState& state() override { return state_; }
  const PairTrainerState& state() const override { return state_; }

 private:
  void begin(Beginning& beginning) const override;

  EncoderDecoder& model_;
  std::span<const TokenPair> train_, validation_;
  TargetEnds ends_;
  PairTrainerConfig config_;
  PairTrainerState state_;
  GradientSums gradient_sums_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
