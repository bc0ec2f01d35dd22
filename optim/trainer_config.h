#pragma once

#include <cstdint>
#include <string>

namespace shiftgrad {

/// Settings of a Trainer, under nanoGPT's names and Transformer-XL's mem_len.
struct TrainerConfig {
  int64_t batch_size = 12;
  /// Number of batches that make one update. Each batch is weighted by its number of tokens. N
  /// batches of blocks therefore equal one batch of N times the rows. Batches of streams follow
  /// each other in time, each after the memory of the one before, and the update comes after the
  /// last.
  int64_t gradient_accumulation_steps = 1;
  /// Number of updates over which the number of batches rises, like the learning rate in its
  /// warm-up. Update n is made from gradient_accumulation_steps · n / (batch_warmup_iters + 1)
  /// batches, rounded up.
  int64_t batch_warmup_iters = 0;
  /// Number of tokens in a row of a batch.
  int64_t block_size = 64;
  /// How the text is cut into batches: `blocks` (RandomBlocks) or `streams` (ParallelStreams).
  std::string batches = "streams";
  /// Number of tokens of memory carried from one batch of streams to the next.
  int64_t mem_len = 0;

  /// Auxiliary losses; see optim/auxiliary_losses.h. For these, the length of the training is
  /// lr_decay_iters, or max_iters if that is 0.
  double intermediate_losses = 0;
  int64_t targets = 1;
  double extra_targets_weight = 0.5;

  int64_t max_iters = 2000;
  double learning_rate = 1e-3;
  double min_lr = 1e-4;
  int64_t warmup_iters = 100;
  /// Step at which the decay of the learning rate ends; 0 means max_iters.
  int64_t lr_decay_iters = 0;
  /// Type of Schedule: `constant`, `linear`, `cosine`, `inverse_sqrt` or `noam`.
  std::string schedule = "cosine";

  /// Update rule: `adamw`, `adam` or `sgd`.
  std::string optimizer = "adamw";
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.99;
  /// SGD momentum.
  double momentum = 0.9;
  /// The largest norm of the gradient; 0 = no limit.
  double grad_clip = 1;
  /// Patterns of names for parameters that stay as they are and get no gradient, and for factors of
  /// the learning rate; see optim/parameter_patterns.h.
  std::string freeze{}, lr_scale{};

  /// Number of steps between evaluations. There is always one at the end.
  int64_t eval_interval = 250;
  /// Number of batches that an evaluation sees of each text; 0 sees as much as the validation text
  /// has.
  int64_t eval_iters = 0;
  /// Number of steps between saves; 0 means eval_interval. There is always a save at the end.
  int64_t save_interval = 0;
  /// Stop after this many evaluations in a row without a new best; 0 never stops.
  int64_t patience = 0;
  /// Seed of the data's order and of dropout.
  uint64_t seed = 1337;

  /// Throws, naming the field, when one that the loop does not check is bad.
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
