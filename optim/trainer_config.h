#pragma once

#include <cstdint>
#include <string>

namespace shiftgrad {

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

  /// Throws when a field is bad that the loop does not know, naming it.
  void check() const;

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

}  // namespace shiftgrad
