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
    flag("data", data, "FILE", "text to learn from, any bytes (default: the project's own source)");
    flag("val_data", val_data, "FILE",
         "text to validate on, all of --data being trained on (default: the end of --data)");
    flag("eval_split", eval_split, "SHARE",
         "of --data, at its end, never trained on; without --val_data", range::proper_share);
    flag("vocab", vocab, "bytes|characters",
         "what a token is, and everything here calls a character: a byte of any text, or a code "
         "point of a text in UTF-8");
    flag("out_dir", out_dir, "FOLDER", "where checkpoints and metrics go");
    model.visit(flag);
    flag("batch_size", trainer.batch_size, "ROWS", "rows of a batch", range::one_or_more);
    flag("gradient_accumulation_steps", trainer.gradient_accumulation_steps, "BATCHES",
         "batches that make one update, each weighing as much as it has tokens; a model that reads "
         "in order reads one after the other",
         range::one_or_more);
    flag("batch_warmup_iters", trainer.batch_warmup_iters, "STEPS",
         "rise of the number of these batches, from one", range::steps);
    flag("intermediate_losses", trainer.intermediate_losses, "WEIGHT",
         "of the losses of each block but the last, which get output layers of their own; block l "
         "of L stops after l/2L of lr_decay_iters; 0 for no such losses",
         range::rate);
    flag("targets", trainer.targets, "TOKENS",
         "that each position predicts, the next one among them", range::one_or_more);
    flag("extra_targets_weight", trainer.extra_targets_weight, "WEIGHT",
         "of the losses of these but the next one", range::rate);
    flag("max_iters", trainer.max_iters, "STEPS", "length of the training", range::steps);
    flag("learning_rate", trainer.learning_rate, "RATE",
         "highest learning rate; of noam a factor, 1 in its paper", range::rate);
    flag("min_lr", trainer.min_lr, "RATE", "learning rate at the end of its decay", range::rate);
    flag("warmup_iters", trainer.warmup_iters, "STEPS", "rise of the learning rate", range::steps);
    flag("lr_decay_iters", trainer.lr_decay_iters, "STEPS",
         "end of the learning rate's decay, 0 for max_iters", range::steps);
    flag("schedule", trainer.schedule, "constant|linear|cosine|inverse_sqrt|noam",
         "of the learning rate behind its rise");
    flag("optimizer", trainer.optimizer, "adamw|adam|sgd", "how gradients become updates");
    flag("weight_decay", trainer.weight_decay, "FACTOR", "decay of linear and embedding weights",
         range::rate);
    flag("beta1", trainer.beta1, "FACTOR", "decay of the gradient's mean", range::less_than_one);
    flag("beta2", trainer.beta2, "FACTOR", "decay of the squared gradient's mean",
         range::less_than_one);
    flag("momentum", trainer.momentum, "FACTOR", "of sgd", range::less_than_one);
    flag("grad_clip", trainer.grad_clip, "NORM", "largest norm of the gradient, 0 for no limit",
         range::rate);
    flag("freeze", trainer.freeze, "PATTERNS",
         "parameters that stay as they are: names with * in them, separated by commas, such as "
         "embedding.*,blocks.0.* (default: none)");
    flag("lr_scale", trainer.lr_scale, "PATTERN=FACTOR,...",
         "factors of the learning rate of the parameters so named; the last that matches counts "
         "(default: 1 for all)");
    flag("eval_interval", trainer.eval_interval, "STEPS", "steps between two evaluations",
         range::interval);
    flag("eval_iters", trainer.eval_iters, "BATCHES",
         "batches of an evaluation, 0 for the whole validation text", range::zero_or_more);
    flag("patience", trainer.patience, "EVALUATIONS",
         "in a row and none the best that end the training, 0 for no end", range::zero_or_more);
    flag("save_interval", trainer.save_interval, "STEPS",
         "steps between two saves of the last checkpoint, 0 for eval_interval", range::steps);
    flag("log_interval", log_interval, "STEPS", "steps between two lines of metrics",
         range::interval);
    flag("seed", trainer.seed, "NUMBER", "of the weights, the batches and dropout");
    flag("threads", threads, "THREADS", "0 for one a core", range::thread_count);
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
