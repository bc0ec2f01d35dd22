#pragma once

#include <set>
#include <string>

#include "examples/apps/char_lm/auxiliary_losses.h"
#include "examples/apps/flags/run_flags.h"
#include "examples/apps/flags/saved_flags.h"
#include "models.h"
#include "optim/trainer.h"

namespace char_lm {

/// All flags of `train`. A checkpoint stores them, so that `eval` and `generate` know the run.
struct TrainFlags : apps::RunFlags {
  std::string data{}, val_data{};
  double eval_split = 0.1;
  std::string vocab = "bytes", vocab_from{};
  ModelFlags model{};
  shiftgrad::TrainerConfig trainer{.eval_iters = 20};
  AuxiliaryLossesConfig auxiliary{};
  /// Whether these are a converted run's, which is handed on without the places of its texts.
  bool texts_left_out = false;

  /// Hyperparameters of the trainer that follow from the model's flags; see `resolve_defaults`.
  static inline const std::set<std::string> decided_by_model = {"batches", "block_size", "mem_len"};

  /// Calls flag(value, field) for each flag. This is the only list of them.
  template <class Flag>
  void visit(Flag&& flag) {
    flag(data, {"data",
                "text file to train on, any bytes (default: the source code of this project)",
                {"FILE"},
                group::texts});
    flag(val_data,
         {"val_data",
          "text file to validate on; all of --data is then trained on (default: the end of --data)",
          {"FILE"},
          group::texts});
    flag(eval_split,
         {"eval_split",
          "share of --data, at its end, to hold back for validation if there is no --val_data",
          {"SHARE", range::proper_share},
          group::texts});
    flag(vocab,
         {"vocab",
          "what a token is: a byte of any text, or a code point of a text in UTF-8; messages call "
          "either a character. The model knows those of its texts, or all 256 bytes",
          {"bytes|all_bytes|characters"},
          group::texts});
    flag(vocab_from,
         {"vocab_from",
          "take exactly the characters of this text, or those that a run knows: its folder or a "
          ".safetensors file of it (default: those of --data and --val_data)",
          {"FILE"},
          group::texts});
    visit_run(flag);
    model.visit(apps::in_group(group::model, flag));
    trainer.fields([&](auto& value, const Field& field) {
      if (!decided_by_model.contains(field.name)) flag(value, field);
    });
    auxiliary.fields(flag);
  }

  /// Copies to the trainer the settings that it shares with the model, and sets the defaults that
  /// depend on other flags.
  void resolve_defaults();

  /// Returns how a model with these flags is scored: after its memory, or in separate blocks.
  shiftgrad::EvaluationConfig default_evaluation() const;

  /// Returns how many tokens an evaluation during training predicts in a validation text of `text`
  /// tokens.
  int64_t evaluated_tokens(int64_t text) const;

  /// Returns how many tokens the model remembers while it writes. A model trained without memory
  /// still has to see what it writes.
  int64_t generation_mem_len() const;

  /// Returns how many positions a token could have in training.
  int64_t trained_positions() const { return model.block_size + trainer.ext_len; }

  /// Returns the flags as a JSON object, and reads such an object of a checkpoint back. Errors name
  /// `source`.
  std::string to_json() const;
  static TrainFlags from_json(const std::string& text, const std::string& source);
};

/// The flags that saved weights decide are those of the model, except dropout, and of its
/// vocabulary. Those that may change when a run is resumed do not change its course, except for the
/// lengths of blocks and of the memory.
const apps::ChangeableFlags& changeable_flags();

/// Throws, naming block_size or mem_len, when the lengths of `flags` make another model than those
/// of `saved`, and, for a run that is resumed, when they make other batches. `source` is the saved
/// run's file.
void check_lengths(const TrainFlags& saved, const TrainFlags& flags, bool resumed,
                   const std::string& source);

}  // namespace char_lm
