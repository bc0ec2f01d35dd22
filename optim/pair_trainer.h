#pragma once

// The training loop of an encoder-decoder:
//
//     batch -> forward -> loss, its labels smoothed -> backward -> clip -> update

#include <limits>
#include <map>
#include <span>
#include <string>

#include "optim/pairs.h"
#include "optim/trainer.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

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
  uint64_t seed = 1337;
};

/// -log p of each target token and end, the mean over all of them.
Evaluation evaluate(const EncoderDecoder& model, std::span<const TokenPair> pairs,
                    const TargetEnds& ends, int64_t batch_size);

class PairTrainer {
 public:
  /// The model and both sets must outlive the trainer. Without validation pairs, evaluations score
  /// the training pairs. Throws when the config is bad, naming the field, or there is no pair to
  /// train on.
  PairTrainer(EncoderDecoder& model, std::span<const TokenPair> train,
              std::span<const TokenPair> validation, const TargetEnds& ends,
              const PairTrainerConfig& config);

  /// One update. Throws, with the weights as they were, when the loss or the gradient's norm is not
  /// finite.
  StepReport step();

  /// `eval_pairs` of either set, without label smoothing. Throws when a loss is not
  /// finite.
  EvaluationReport evaluate();

  /// Steps until max_iters, with an evaluation every eval_interval steps and at the end.
  void run(const TrainerCallbacks& callbacks);

  /// Updates made.
  int64_t step_count() const { return step_; }

  /// All that it takes, beside the config and the weights, to go on in another process with the
  /// same bits:
  ///
  ///     step             I64 [1]
  ///     best_loss        F64 [1]
  ///     dropout          U64 [3]: seed, stream, counter
  ///     batches          I64 [2]: epoch, and batches of it that were given
  ///     optimizer.*      as in trainer_state.h
  ///     train_pairs, validation_pairs: which data they belong to
  std::map<std::string, StoredTensor> saved() const;
  /// Goes on from what another trainer saved, whose model now has that one's weights. Throws, in
  /// the name of `source` and with the state as it was, when it does not fit or the pairs are
  /// others.
  void resume(const std::map<std::string, StoredTensor>& saved, const std::string& source);

 private:
  EncoderDecoder& model_;
  std::span<const TokenPair> train_, validation_;
  TargetEnds ends_;
  PairTrainerConfig config_;
  Schedule schedule_;
  PairBatches batches_;
  Optimizer optimizer_;
  Random random_;
  int64_t step_ = 0;
  double best_loss_ = std::numeric_limits<double>::infinity();
};

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
