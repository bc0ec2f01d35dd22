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

/// Settings of a PairTrainer. Fields that TrainerConfig has too mean the same.
struct PairTrainerConfig {
  /// Number of pairs in a batch.
  int64_t batch_size = 64;
  int64_t max_iters = 2000;
  double learning_rate = 1e-3;
  double min_lr = 1e-5;
  int64_t warmup_iters = 100;
  /// Step at which the decay of the learning rate ends; 0 means max_iters.
  int64_t lr_decay_iters = 0;
  /// Type of Schedule. `noam` is that of Vaswani et al. 2017.
  std::string schedule = "cosine";
  /// AdamW's settings.
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double grad_clip = 1;
  /// Label smoothing ε of cross_entropy, used in training only.
  double label_smoothing = 0.1;
  int64_t eval_interval = 250;
  /// Number of pairs of each set that an evaluation scores, evenly spaced; 0 scores all.
  int64_t eval_pairs = 1000;
  int64_t save_interval = 0;
  int64_t patience = 0;
  uint64_t seed = 1337;

  /// Throws, naming the field, when one that the loop does not check is bad.
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

/// Scores a model on pairs, by the mean of -log p over all target tokens and ends. Each of several
/// peers scores its share of the batches, and all get the mean over all.
Evaluation evaluate(const EncoderDecoder& model, std::span<const TokenPair> pairs,
                    const TargetEnds& ends, int64_t batch_size, Peers& peers = alone());

class PairTrainer : public TrainingLoop {
 public:
  /// Sets up the training. The model, both sets and the peers must outlive the trainer. Without
  /// validation pairs, evaluations score the training pairs. Throws when the config is bad, naming
  /// the field, or when there is no pair to train on.
  PairTrainer(EncoderDecoder& model, std::span<const TokenPair> train,
              std::span<const TokenPair> validation, const TargetEnds& ends,
              const PairTrainerConfig& config, Peers& peers = alone());

  StepReport step() override;

  /// Scores `eval_pairs` pairs of either set, without label smoothing.
  EvaluationReport evaluate() override;

  /// Returns the loop's state, and
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
