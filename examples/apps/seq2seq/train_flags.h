#pragma once

#include <set>
#include <string>

#include "examples/apps/flags/run_flags.h"
#include "models.h"
#include "optim/pair_trainer.h"
#include "rows.h"

namespace seq2seq {

/// All flags of `train`. A checkpoint stores them, so that the other commands know the run.
struct TrainFlags : apps::RunFlags {
  std::string data{}, val_data{};
  double eval_split = 0.05;
  bool skip_bad_rows = false;
  std::string source_tokens = "characters";
  std::string target_tokens = "characters";
  ModelFlags model{};
  shiftgrad::PairTrainerConfig trainer{};

  /// Calls flag(value, field) for each flag. This is the only list of them.
  template <class Flag>
  void visit(Flag&& flag) {
    flag(data,
         {"data",
          "file of pairs to train on, in UTF-8, one per line: source, tab, target (default: dates "
          "as people write them, with their ISO 8601 form)",
          {"FILE"},
          group::texts});
    flag(val_data,
         {"val_data",
          "file of pairs to validate on; all of --data is then trained on (default: the end of "
          "--data)",
          {"FILE"},
          group::texts});
    flag(eval_split,
         {"eval_split",
          "share of --data, at its end, to hold back for validation if there is no --val_data",
          {"SHARE", range::proper_share},
          group::texts});
    flag(skip_bad_rows,
         {"skip_bad_rows",
          "skip rows that are not pairs, and report them; without this flag the first is an error",
          {},
          group::texts});
    flag(source_tokens,
         {"source_tokens",
          "what a token of a source is: a character, or a word with spaces around it",
          {"characters|words"},
          group::texts});
    flag(target_tokens,
         {"target_tokens", "what a token of a target is", {"characters|words"}, group::texts});
    visit_run(flag);
    model.visit(apps::in_group(group::model, flag));
    trainer.fields(flag);
  }

  /// Sets the defaults that depend on other flags. Throws, naming them, when flags contradict each
  /// other.
  void resolve_defaults();

  BadRows bad_rows() const { return skip_bad_rows ? BadRows::skip : BadRows::refuse; }

  /// Returns the flags as a JSON object, and reads such an object of a checkpoint back. Errors name
  /// `source`.
  std::string to_json() const;
  static TrainFlags from_json(const std::string& text, const std::string& source);
};

/// Names of the flags that may change when a run is resumed, since they do not change its course.
const std::set<std::string>& free_flags();

/// Names of the flags that saved weights decide: those of the model, except dropout, and of its
/// symbols.
std::set<std::string> weight_flags();

}  // namespace seq2seq
