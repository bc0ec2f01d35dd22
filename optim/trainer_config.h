#pragma once

// The hyperparameters of a training, which flags, checkpoints and JSON read from one list.

#include <cstdint>
#include <string>

#include "core/field.h"
#include "optim/schedule.h"

namespace shiftgrad {

/// The length of a training.
inline Field max_iters_field() {
  return {"max_iters", "steps to train for", quantity::steps, group::run};
}

/// Calls field(value, {name, help, quantity}) for what every training decides at each step.
template <class Config, class Field>
void pace_fields(Config& config, Field&& field) {
  field(config.grad_clip, {"grad_clip",
                           "greatest norm of the gradient, which is clipped to it; 0 for no limit",
                           {"NORM", range::rate},
                           group::updates});
  field(config.eval_interval,
        {"eval_interval", "steps between two evaluations", quantity::interval, group::run});
  field(config.save_interval,
        {"save_interval", "steps between two saves of the last checkpoint, 0 for eval_interval",
         quantity::steps, group::run});
  field(config.patience, {"patience",
                          "stop after this many evaluations without a new best; 0 never stops",
                          {"EVALUATIONS", range::zero_or_more},
                          group::run});
  field(config.seed,
        {"seed", "seed of the weights, the batches and dropout", {"NUMBER"}, group::run});
}

/// Calls field(value, {name, help, quantity}) for each hyperparameter that the trainers of texts
/// and of pairs share, apart from the size of a batch.
template <class Config, class Field>
void loop_fields(Config& config, Field&& field) {
  field(config.max_iters, max_iters_field());
  schedule_fields(config, field);
  field(config.schedule,
        {"schedule", "course of the learning rate after its rise", {}, group::updates});
  field(config.weight_decay, {"weight_decay",
                              "weight decay of linear and embedding weights",
                              {"FACTOR", range::rate},
                              group::updates});
  field(config.beta1,
        {"beta1", "decay rate of the gradient's running mean", quantity::decay, group::updates});
  field(config.beta2, {"beta2", "decay rate of the squared gradient's running mean",
                       quantity::decay, group::updates});
  pace_fields(config, field);
}

/// RandomBlocks or ParallelStreams.
enum class BatchType { blocks, streams };
constexpr auto names(BatchType) { return std::array{"blocks", "streams"}; }

/// AdamW, Adam or SGD, of update_rules.h.
enum class OptimizerType { adamw, adam, sgd };
constexpr auto names(OptimizerType) { return std::array{"adamw", "adam", "sgd"}; }

/// Hyperparameters of a Trainer, under nanoGPT's names and Transformer-XL's mem_len. `fields`
/// describes each.
struct TrainerConfig {
  int64_t batch_size = 12;
  /// Batches per update. N batches of blocks equal one batch of N times the rows. Batches of
  /// streams follow each other in time, each after the memory of the one before, and the update
  /// comes after the last.
  int64_t gradient_accumulation_steps = 1;
  /// Update n is made from gradient_accumulation_steps · n / (batch_warmup_iters + 1) batches,
  /// rounded up.
  int64_t batch_warmup_iters = 0;
  int64_t block_size = 64;
  BatchType batches = BatchType::streams;
  int64_t block_step = 1;
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

  /// Steps between evaluations. There is always one, and a save, at the end.
  int64_t eval_interval = 250;
  int64_t eval_iters = 0;
  int64_t save_interval = 0;
  int64_t patience = 0;
  uint64_t seed = 1337;

  /// Throws, naming the field, when one is out of range or contradicts another.
  void check() const;

  /// Calls field(value, {name, help, quantity}) for each hyperparameter. This is their only
  /// list: flags, checkpoints and the checks of values and peers read it.
  template <class Field>
  void fields(Field&& field) {
    field(batch_size,
          {"batch_size", "rows in a batch", {"ROWS", range::one_or_more}, group::batches});
    field(block_size,
          {"block_size", "tokens in a row of a batch", quantity::tokens, group::batches});
    field(batches, {"batches",
                    "how the text is cut: into blocks from anywhere, or into streams read in order",
                    {},
                    group::batches});
    field(block_step, {"block_step", "blocks begin at multiples of so many tokens of the text",
                       quantity::tokens, group::batches});
    field(mem_len, {"mem_len", "tokens of memory carried from one batch to the next",
                    quantity::tokens_or_none, group::batches});
    field(ext_len,
          {"ext_len",
           "tokens of a batch that are fed again with the next one before they become memory",
           quantity::tokens_or_none, group::batches});
    field(loss_tokens,
          {"loss_tokens", "tokens at the end of each row that the loss is about, 0 for all",
           quantity::tokens_or_none, group::loss});
    field(gradient_accumulation_steps,
          {"gradient_accumulation_steps",
           "batches per update, weighted by their numbers of tokens; a model that reads in order "
           "reads them one after the other",
           {"BATCHES", range::one_or_more},
           group::batches});
    field(batch_warmup_iters,
          {"batch_warmup_iters", "steps over which the number of batches per update rises from one",
           quantity::steps, group::batches});
    field(optimizer, {"optimizer", "rule that turns gradients into updates", {}, group::updates});
    field(momentum, {"momentum", "SGD momentum", quantity::decay, group::updates});
    field(freeze, {"freeze",
                   "parameters not to train: names, in which * stands for anything, separated by "
                   "commas, such as embedding.*,blocks.0.* (default: none)",
                   {"PATTERNS"},
                   group::updates});
    field(
        lr_scale,
        {"lr_scale",
         "factors of the learning rate for the parameters whose names match; the last match counts "
         "(default: 1 for all)",
         {"PATTERN=FACTOR,..."},
         group::updates});
    field(eval_iters, {"eval_iters",
                       "batches per evaluation, 0 for the whole text",
                       {"BATCHES", range::zero_or_more},
                       group::run});
    loop_fields(*this, field);
  }
};

}  // namespace shiftgrad
