#pragma once

// The training loop of a language model:
//
//     batch -> forward -> losses -> backward -> clip -> update -> remember

#include <functional>
#include <map>
#include <span>
#include <string>

#include "nn/language_model.h"
#include "optim/auxiliary_losses.h"
#include "optim/evaluate.h"
#include "optim/gradient_sums.h"
#include "optim/peers.h"
#include "optim/schedule.h"
#include "optim/trainer_state.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// nanoGPT's names, and Transformer-XL's mem_len.
struct TrainerConfig {
  int64_t batch_size = 12;
  /// Batches that make one update. Each weighs as much as it has tokens, so that of blocks N
  /// batches are one of N times the rows; of streams they follow each other in time, each behind
  /// the memory of the one before, and the update comes after the last.
  int64_t gradient_accumulation_steps = 1;
  /// Updates over which these grow in number, as the learning rate in its warm-up: update n is made
  /// from gradient_accumulation_steps · n / (batch_warmup_iters + 1) batches, rounded up.
  int64_t batch_warmup_iters = 0;
  /// Tokens in a row of a batch.
  int64_t block_size = 64;
  /// `blocks` (RandomBlocks) or `streams` (ParallelStreams).
  std::string batches = "streams";
  /// Tokens of memory carried from one batch of streams to the next.
  int64_t mem_len = 0;

  /// What else is predicted, see optim/auxiliary_losses.h. The whole training is lr_decay_iters
  /// long there, or max_iters.
  double intermediate_losses = 0;
  int64_t targets = 1;
  double extra_targets_weight = 0.5;

  int64_t max_iters = 2000;
  double learning_rate = 1e-3;
  double min_lr = 1e-4;
  int64_t warmup_iters = 100;
  /// 0: max_iters.
  int64_t lr_decay_iters = 0;
  /// `constant`, `linear`, `cosine`, `inverse_sqrt` or `noam`.
  std::string schedule = "cosine";

  /// `adamw`, `adam` or `sgd`.
  std::string optimizer = "adamw";
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.99;
  /// SGD's only.
  double momentum = 0.9;
  /// The largest norm of the gradient; 0 = no limit.
  double grad_clip = 1;
  /// Parameters that stay as they are and get no gradient, and factors of the learning rate, by
  /// patterns of names: see optim/parameter_patterns.h.
  std::string freeze{}, lr_scale{};

  /// Steps between evaluations; there is always one at the end.
  int64_t eval_interval = 250;
  /// An evaluation sees so many batches of text; 0: as much of it as the validation text has.
  int64_t eval_iters = 0;
  /// Steps between saves; there is always one at the end. 0: eval_interval.
  int64_t save_interval = 0;
  /// The run ends after so many evaluations in a row that were no better than the best; 0: never.
  int64_t patience = 0;
  /// Of the data's order and of dropout.
  uint64_t seed = 1337;

  template <class Fields>
  void fields(Fields& field) {
    field("batch_size", batch_size);
    field("gradient_accumulation_steps", gradient_accumulation_steps);
    field("batch_warmup_iters", batch_warmup_iters);
    field("block_size", block_size);
    field("batches", batches);
    field("mem_len", mem_len);
    field("intermediate_losses", intermediate_losses);
    field("targets", targets);
    field("extra_targets_weight", extra_targets_weight);
    field("max_iters", max_iters);
    field("learning_rate", learning_rate);
    field("min_lr", min_lr);
    field("warmup_iters", warmup_iters);
    field("lr_decay_iters", lr_decay_iters);
    field("schedule", schedule);
    field("optimizer", optimizer);
    field("weight_decay", weight_decay);
    field("beta1", beta1);
    field("beta2", beta2);
    field("momentum", momentum);
    field("grad_clip", grad_clip);
    field("freeze", freeze);
    field("lr_scale", lr_scale);
    field("eval_interval", eval_interval);
    field("eval_iters", eval_iters);
    field("save_interval", save_interval);
    field("patience", patience);
    field("seed", seed);
  }
};

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

class Trainer {
 public:
  /// The model, both texts and the peers must outlive the trainer. From now on the model's
  /// parameters require a gradient, but for the frozen ones. Without a validation text, evaluations
  /// score the training text. Of several peers, each has the same model, texts and config, makes
  /// the same calls, and takes its rows of each batch; what comes out is that of all. Throws when
  /// the config is bad, naming the field, or a text is too short.
  Trainer(LanguageModel& model, std::span<const int32_t> train_text,
          std::span<const int32_t> validation_text, const TrainerConfig& config,
          Peers& peers = alone());

  /// Throws unless all peers begin with the same weights, texts and state. To be called before the
  /// first step, and before anything is written.
  void check_peers() const;

  /// One update. Throws, with the weights as they were, when the loss or the gradient's
  /// norm is not finite.
  StepReport step();

  /// Both texts in the way the model is trained: streams with memory, or blocks as chunks. Throws
  /// when a loss is not finite.
  EvaluationReport evaluate();

  /// Steps until max_iters or the end of patience, with an evaluation every eval_interval steps and
  /// at the end.
  void run(const TrainerCallbacks& callbacks);

  /// Whether the last `patience` evaluations were no better than the best.
  bool out_of_patience() const;

  /// All that it takes, beside the config and the model's weights, to go on in another process with
  /// the same bits: the state's tensors, which texts they belong to, and the weights of auxiliary
  /// losses.
  std::map<std::string, StoredTensor> saved() const;
  /// Goes on from what another trainer saved, whose model now has that one's weights. Throws, in
  /// the name of `source` and with the state as it was, when it does not fit the model and the
  /// config, or the texts are others.
  void resume(std::map<std::string, StoredTensor> saved, const std::string& source);

  const TrainerConfig& config() const { return config_; }
  TrainerState& state() { return state_; }
  const TrainerState& state() const { return state_; }

 private:
  std::vector<Batch> next_batches();
  /// Adds `weight` times the gradients of the batch's losses to what is there, and returns the main
  /// one. After the last batch of a step, the gradients are final.
  double accumulate(const Batch& batch, double weight, Memory& memory, Context& context, bool last);
  /// Throws as `resume` does.
  TrainerState state_from(std::map<std::string, StoredTensor> saved,
                          const std::string& source) const;

  LanguageModel& model_;
  std::span<const int32_t> train_text_, validation_text_;
  TrainerConfig config_;
  Peers& peers_;
  Schedule schedule_;
  AuxiliaryLosses auxiliary_;
  /// The memory is that of the own rows.
  TrainerState state_;
  GradientSums gradient_sums_;
};

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
