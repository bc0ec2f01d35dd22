#pragma once

#include <set>
#include <string>

#include "models.h"
#include "shiftgrad/optim/trainer.h"

namespace char_lm {

/// All flags of `train`. A checkpoint stores them, so that `eval` and `generate` know the run.
struct TrainFlags {
  std::string data{}, val_data{};
  double eval_split = 0.1;
  std::string vocab = "bytes";
  std::string out_dir = "out";
  ModelFlags model{};
  shiftgrad::TrainerConfig trainer{.eval_iters = 20};
  int64_t log_interval = 10;
  int threads = 0;

  /// Calls flag(name, value, unit, description) for each flag. This is the only list of them.
  template <class Flag>
  void visit(Flag&& flag) {
    flag("data", data, "FILE",
         "text file to train on, any bytes (default: the source code of this project)");
    flag("val_data", val_data, "FILE",
         "text file to validate on; all of --data is then trained on (default: the end of --data)");
    flag("eval_split", eval_split, "SHARE",
         "share of --data, at its end, to hold back for validation if there is no --val_data",
         range::proper_share);
    flag("vocab", vocab, "bytes|characters",
         "what a token is: a byte of any text, or a code point of a text in UTF-8; messages call "
         "either a character");
    flag("out_dir", out_dir, "FOLDER", "folder for checkpoints and metrics");
    model.visit(flag);
    flag("batch_size", trainer.batch_size, "ROWS", "rows in a batch", range::one_or_more);
    flag("gradient_accumulation_steps", trainer.gradient_accumulation_steps, "BATCHES",
         "batches per update, weighted by their numbers of tokens; a model that reads in order "
         "reads them one after the other",
         range::one_or_more);
    flag("batch_warmup_iters", trainer.batch_warmup_iters, "STEPS",
         "steps over which the number of batches per update rises from one", range::steps);
    flag("intermediate_losses", trainer.intermediate_losses, "WEIGHT",
         "weight of an auxiliary loss for each block but the last, each with an output layer of "
         "its own; the loss of block l of L ends after l/2L of lr_decay_iters; 0 for none",
         range::rate);
    flag("targets", trainer.targets, "TOKENS",
         "tokens that each position predicts, beginning with the next one", range::one_or_more);
    flag("extra_targets_weight", trainer.extra_targets_weight, "WEIGHT",
         "weight of the losses of all targets but the next token", range::rate);
    flag("max_iters", trainer.max_iters, "STEPS", "steps to train for", range::steps);
    flag("learning_rate", trainer.learning_rate, "RATE",
         "highest learning rate; with --schedule noam a factor, which is 1 in the paper",
         range::rate);
    flag("min_lr", trainer.min_lr, "RATE", "learning rate at the end of the decay", range::rate);
    flag("warmup_iters", trainer.warmup_iters, "STEPS", "steps over which the learning rate rises",
         range::steps);
    flag("lr_decay_iters", trainer.lr_decay_iters, "STEPS",
         "step at which the learning rate's decay ends, 0 for max_iters", range::steps);
    flag("schedule", trainer.schedule, "constant|linear|cosine|inverse_sqrt|noam",
         "course of the learning rate after its rise");
    flag("optimizer", trainer.optimizer, "adamw|adam|sgd",
         "rule that turns gradients into updates");
    flag("weight_decay", trainer.weight_decay, "FACTOR",
         "weight decay of linear and embedding weights", range::rate);
    flag("beta1", trainer.beta1, "FACTOR", "decay rate of the gradient's running mean",
         range::less_than_one);
    flag("beta2", trainer.beta2, "FACTOR", "decay rate of the squared gradient's running mean",
         range::less_than_one);
    flag("momentum", trainer.momentum, "FACTOR", "SGD momentum", range::less_than_one);
    flag("grad_clip", trainer.grad_clip, "NORM",
         "greatest norm of the gradient, which is clipped to it; 0 for no limit", range::rate);
    flag("freeze", trainer.freeze, "PATTERNS",
         "parameters not to train: names, in which * stands for anything, separated by commas, "
         "such as embedding.*,blocks.0.* (default: none)");
    flag("lr_scale", trainer.lr_scale, "PATTERN=FACTOR,...",
         "factors of the learning rate for the parameters whose names match; the last match counts "
         "(default: 1 for all)");
    flag("eval_interval", trainer.eval_interval, "STEPS", "steps between two evaluations",
         range::interval);
    flag("eval_iters", trainer.eval_iters, "BATCHES",
         "batches per evaluation, 0 for the whole text", range::zero_or_more);
    flag("patience", trainer.patience, "EVALUATIONS",
         "stop after this many evaluations without a new best; 0 never stops", range::zero_or_more);
    flag("save_interval", trainer.save_interval, "STEPS",
         "steps between two saves of the last checkpoint, 0 for eval_interval", range::steps);
    flag("log_interval", log_interval, "STEPS", "steps between two lines of metrics",
         range::interval);
    flag("seed", trainer.seed, "NUMBER", "seed of the weights, the batches and dropout");
    flag("threads", threads, "THREADS", "threads to use, 0 for one per core", range::thread_count);
  }

  /// Copies to the trainer the settings that it shares with the model, and sets the defaults that
  /// depend on other flags.
  void settle();

  /// Returns how a model with these flags is scored: after its memory, or in separate blocks.
  shiftgrad::EvaluationConfig own_evaluation() const;

  /// Returns how many tokens an evaluation during training predicts in a validation text of `text`
  /// tokens.
  int64_t evaluated_tokens(int64_t text) const;

  /// Returns how many tokens the model remembers while it writes. A model trained without memory
  /// still has to see what it writes.
  int64_t written_context() const;

  /// Returns the flags as a JSON object, and reads such an object of a checkpoint back. Errors name
  /// `source`.
  std::string to_json() const;
  static TrainFlags from_json(const std::string& text, const std::string& source);
};

/// Names of the flags that may change when a run is resumed, since they do not change its course.
const std::set<std::string>& free_flags();

/// Names of the flags that saved weights decide: those of the model, except dropout, and of its
/// vocabulary.
std::set<std::string> weight_flags();

}  // namespace char_lm
