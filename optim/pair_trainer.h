#pragma once

// The training of an encoder-decoder.
//
//     batch -> forward -> loss, its labels smoothed -> backward -> update

#include <map>
#include <span>
#include <string>

#include "optim/pairs.h"
#include "optim/trainer_config.h"
#include "optim/training_loop.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Hyperparameters of a PairTrainer, which updates by AdamW. `fields` describes each.
struct PairTrainerConfig {
  int64_t batch_size = 64;
  int64_t max_iters = 2000;
  double learning_rate = 1e-3;
  double min_lr = 1e-5;
  int64_t warmup_iters = 100;
  int64_t lr_decay_iters = 0;
  ScheduleType schedule = ScheduleType::cosine;
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double grad_clip = 1;
  double label_smoothing = 0.1;  // ε of cross_entropy, used in training only
  int64_t eval_interval = 250;
  int64_t eval_pairs = 1000;
  int64_t save_interval = 0;
  int64_t patience = 0;
  uint64_t seed = 1337;

  /// Throws, naming the field, when one is out of range.
  void check() const;

  /// Calls field(value, {name, help, quantity}) for each hyperparameter, as TrainerConfig does.
  template <class Field>
  void fields(Field&& field) {
    field(batch_size, {"batch_size",
                       "pairs in a batch, which are of similar length",
                       {"PAIRS", range::one_or_more},
                       group::batches});
    field(label_smoothing, {"label_smoothing",
                            "share of each target's weight to spread over all tokens",
                            {"SHARE", range::less_than_one},
                            group::loss});
    field(eval_pairs, {"eval_pairs",
                       "pairs per evaluation, evenly spaced, 0 for all",
                       {"PAIRS", range::zero_or_more},
                       group::run});
    loop_fields(*this, field);
  }
};

/// Scores a model on pairs, by the mean of -log p over all target tokens and ends. Each of several
/// peers scores its share of the batches, and all get the mean over all. `progress`, if given,
/// is called after each batch with the batches done and all batches.
Evaluation evaluate(const EncoderDecoder& model, std::span<const TokenPair> pairs,
                    const TargetEnds& ends, int64_t batch_size, ProcessGroup& peers = alone(),
                    const EvaluationProgress& progress = {});

/// Trains an EncoderDecoder on pairs of sequences.
class PairTrainer : public TrainingLoop {
 public:
  /// Sets up the training. The model and the peers must outlive the trainer, and both sets, unless
  /// they are given to it to keep. Without validation pairs, evaluations score the training pairs.
  /// Throws when the config is bad, naming the field, or when there is no pair to train on.
  PairTrainer(EncoderDecoder& model, const ViewOrOwned<TokenPair>& train,
              const ViewOrOwned<TokenPair>& validation, const TargetEnds& ends,
              const PairTrainerConfig& config, ProcessGroup& peers = alone());

 private:
  int64_t learn(Context& context) override;
  /// Scores `eval_pairs` pairs of either set, without label smoothing.
  std::pair<Evaluation, Evaluation> scores(const EvaluationProgress& progress) const override;
  /// Writes or reads `batches`, I64 [2]: the epoch, and the number of its batches already taken.
  void visit_state(SavedState& saved) override;
  void note(PeerConsistency& common) const override;

  EncoderDecoder& model_;
  ViewOrOwned<TokenPair> train_, validation_;
  TargetEnds ends_;
  PairTrainerConfig config_;
  Epochs batches_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
