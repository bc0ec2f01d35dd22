#pragma once

#include <cstdint>
#include <string>

#include "core/named.h"
#include "core/range.h"
#include "optim/schedule.h"

namespace shiftgrad {

/// Calls field(name, value, unit, help, range) for each hyperparameter that the trainers of texts
/// and of pairs share, apart from the size of a batch.
template <class Config, class Field>
void loop_fields(Config& config, Field&& field) {
  field("max_iters", config.max_iters, "STEPS", "steps to train for", range::steps);
  field("learning_rate", config.learning_rate, "RATE",
        "highest learning rate; with schedule noam a factor, which is 1 in the paper", range::rate);
  field("min_lr", config.min_lr, "RATE", "learning rate at the end of the decay", range::rate);
  field("warmup_iters", config.warmup_iters, "STEPS", "steps over which the learning rate rises",
        range::steps);
  field("lr_decay_iters", config.lr_decay_iters, "STEPS",
        "step at which the learning rate's decay ends, 0 for max_iters", range::steps);
  field("schedule", config.schedule, choices<ScheduleType>(),
        "course of the learning rate after its rise");
  field("weight_decay", config.weight_decay, "FACTOR",
        "weight decay of linear and embedding weights", range::rate);
  field("beta1", config.beta1, "FACTOR", "decay rate of the gradient's running mean",
        range::less_than_one);
  field("beta2", config.beta2, "FACTOR", "decay rate of the squared gradient's running mean",
        range::less_than_one);
  field("grad_clip", config.grad_clip, "NORM",
        "greatest norm of the gradient, which is clipped to it; 0 for no limit", range::rate);
  field("eval_interval", config.eval_interval, "STEPS", "steps between two evaluations",
        range::interval);
  field("save_interval", config.save_interval, "STEPS",
        "steps between two saves of the last checkpoint, 0 for eval_interval", range::steps);
  field("patience", config.patience, "EVALUATIONS",
        "stop after this many evaluations without a new best; 0 never stops", range::zero_or_more);
  field("seed", config.seed, "NUMBER", "seed of the weights, the batches and dropout");
}

/// RandomBlocks or ParallelStreams.
enum class BatchType { blocks, streams };
constexpr auto names(BatchType) { return std::array{"blocks", "streams"}; }

enum class OptimizerType { adamw, adam, sgd };
constexpr auto names(OptimizerType) { return std::array{"adamw", "adam", "sgd"}; }

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
  BatchType batches = BatchType::streams;
  int64_t mem_len = 0;
  /// The last ext_len tokens of a batch are fed again with the next one, and only then become
  /// memory, as in Transformer-XL's code.
  int64_t ext_len = 0;
  /// The loss is over the last loss_tokens positions of each row, whose predictions have the most
  /// context; 0 is all of them.
  int64_t loss_tokens = 0;

  int64_t max_iters = 2000;
  double learning_rate = 1e-3;
  double min_lr = 1e-4;
  int64_t warmup_iters = 100;
  int64_t lr_decay_iters = 0;
  ScheduleType schedule = ScheduleType::cosine;

  OptimizerType optimizer = OptimizerType::adamw;
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
    field("batches", batches, choices<BatchType>(),
          "how the text is cut: into blocks from anywhere, or into streams read in order");
    field("mem_len", mem_len, "TOKENS", "tokens of memory carried from one batch to the next",
          range::zero_or_more);
    field("ext_len", ext_len, "TOKENS",
          "tokens of a batch that are fed again with the next one before they become memory",
          range::zero_or_more);
    field("loss_tokens", loss_tokens, "TOKENS",
          "tokens at the end of each row that the loss is about, 0 for all", range::zero_or_more);
    field("gradient_accumulation_steps", gradient_accumulation_steps, "BATCHES",
          "batches per update, weighted by their numbers of tokens; a model that reads in order "
          "reads "
          "them one after the other",
          range::one_or_more);
    field("batch_warmup_iters", batch_warmup_iters, "STEPS",
          "steps over which the number of batches per update rises from one", range::steps);
    field("optimizer", optimizer, choices<OptimizerType>(),
          "rule that turns gradients into updates");
    field("momentum", momentum, "FACTOR", "SGD momentum", range::less_than_one);
    field(
        "freeze", freeze, "PATTERNS",
        "parameters not to train: names, in which * stands for anything, separated by commas, such "
        "as embedding.*,blocks.0.* (default: none)");
    field(
        "lr_scale", lr_scale, "PATTERN=FACTOR,...",
        "factors of the learning rate for the parameters whose names match; the last match counts "
        "(default: 1 for all)");
    field("eval_iters", eval_iters, "BATCHES", "batches per evaluation, 0 for the whole text",
          range::zero_or_more);
    loop_fields(*this, field);
  }
};

}  // namespace shiftgrad
