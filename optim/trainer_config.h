#pragma once

#include <cstdint>
#include <string>

#include "shiftgrad/core/range.h"

namespace shiftgrad {

/// Calls field(name, value, unit, help, range) for each hyperparameter that the trainers of texts
/// and of pairs share, apart from the size of a batch.
template <class Config, class Field>
void loop_fields(Config& config, Field&& field) {
  field("max_iters", config.max_iters, "STEPS", "stop after this many updates", range::steps);
  field("learning_rate", config.learning_rate, "RATE",
        "highest learning rate; noam multiplies by it, and its paper has 1", range::rate);
  field("min_lr", config.min_lr, "RATE", "learning rate at the end of its decay", range::rate);
  field("warmup_iters", config.warmup_iters, "STEPS", "updates over which the learning rate rises",
        range::steps);
  field("lr_decay_iters", config.lr_decay_iters, "STEPS",
        "update at which the learning rate's decay ends; 0 means max_iters", range::steps);
  field("schedule", config.schedule, "constant|linear|cosine|inverse_sqrt|noam",
        "course of the learning rate after its rise");
  field("weight_decay", config.weight_decay, "FACTOR",
        "weight decay of linear layers and embeddings", range::rate);
  field("beta1", config.beta1, "FACTOR", "decay of the gradient's mean", range::less_than_one);
  field("beta2", config.beta2, "FACTOR", "decay of the squared gradient's mean",
        range::less_than_one);
  field("grad_clip", config.grad_clip, "NORM", "largest norm of the gradient; 0 means no limit",
        range::rate);
  field("eval_interval", config.eval_interval, "STEPS", "updates between two evaluations",
        range::interval);
  field("save_interval", config.save_interval, "STEPS",
        "updates between two saves of the last checkpoint; 0 means eval_interval", range::steps);
  field("patience", config.patience, "EVALUATIONS",
        "stop after this many evaluations without a new best; 0 never stops", range::zero_or_more);
  field("seed", config.seed, "NUMBER", "seed of the weights, the batches and dropout");
}

/// Hyperparameters of a Trainer, under nanoGPT's names and Transformer-XL's mem_len. `fields`
/// describes each.
struct TrainerConfig {
  int64_t batch_size = 12;
  /// N batches of blocks equal one batch of N times the rows. Batches of streams follow each other
  /// in time, each after the memory of the one before, and the update comes after the last.
  int64_t gradient_accumulation_steps = 1;
  /// Update n is made from gradient_accumulation_steps · n / (batch_warmup_iters + 1) batches,
  /// rounded up.
  int64_t batch_warmup_iters = 0;
  int64_t block_size = 64;
  /// `blocks` are RandomBlocks, `streams` ParallelStreams.
  std::string batches = "streams";
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
  int64_t lr_decay_iters = 0;
  std::string schedule = "cosine";  // a type of Schedule

  std::string optimizer = "adamw";
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double momentum = 0.9;
  double grad_clip = 1;
  std::string freeze{}, lr_scale{};  // see optim/parameter_patterns.h

  /// There is always an evaluation, and a save, at the end.
  int64_t eval_interval = 250;
  int64_t eval_iters = 0;
  int64_t save_interval = 0;
  int64_t patience = 0;
  uint64_t seed = 1337;

  /// Throws, naming the field, when one is out of range or contradicts another.
  void check() const;

  /// Calls field(name, value, unit, help, range) for each hyperparameter. This is their only list:
  /// flags, checkpoints and the checks of values and peers read it.
  template <class Field>
  void fields(Field&& field) {
    field("batch_size", batch_size, "ROWS", "rows in a batch", range::one_or_more);
    field("block_size", block_size, "TOKENS", "tokens in a row of a batch", range::one_or_more);
    field("batches", batches, "blocks|streams",
          "how the text is cut: into blocks from anywhere, or into streams read in order");
    field("mem_len", mem_len, "TOKENS", "tokens of memory carried from one batch to the next",
          range::zero_or_more);
    field("gradient_accumulation_steps", gradient_accumulation_steps, "BATCHES",
          "batches that make one update, each weighted by its number of tokens; a model that reads "
          "in order reads one after the other",
          range::one_or_more);
    field("batch_warmup_iters", batch_warmup_iters, "STEPS",
          "updates over which the number of these batches rises from one", range::steps);
    field("intermediate_losses", intermediate_losses, "WEIGHT",
          "weight of the losses of each block but the last, which get output layers of their own; "
          "block l of L stops after l/2L of lr_decay_iters; 0 means no such losses",
          range::rate);
    field("targets", targets, "TOKENS", "tokens that each position predicts, with the next one",
          range::one_or_more);
    field("extra_targets_weight", extra_targets_weight, "WEIGHT",
          "weight of the losses of these tokens except the next one", range::rate);
    field("optimizer", optimizer, "adamw|adam|sgd", "how gradients become updates");
    field("momentum", momentum, "FACTOR", "SGD momentum", range::less_than_one);
    field("freeze", freeze, "PATTERNS",
          "parameters that stay as they are: names with * in them, separated by commas, such as "
          "embedding.*,blocks.0.* (default: none)");
    field("lr_scale", lr_scale, "PATTERN=FACTOR,...",
          "factors of the learning rate of the parameters so named; the last that matches counts "
          "(default: 1 for all)");
    field("eval_iters", eval_iters, "BATCHES",
          "batches that an evaluation sees of each text; 0 means as many as the validation text "
          "has",
          range::zero_or_more);
    loop_fields(*this, field);
  }
};

}  // namespace shiftgrad
