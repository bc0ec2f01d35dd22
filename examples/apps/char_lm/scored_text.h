#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/apps/flags/flags.h"
#include "optim/evaluate.h"
#include "run_folder.h"

namespace char_lm {

/// The flags that choose the text on which a model is scored.
struct ScoredText {
  std::optional<std::string> data;
  std::optional<double> eval_split;

  void add_flags(CLI::App& app);

  /// Returns the validation text of the training, or the end of another text, as the run's tokens.
  /// Throws one line for a bad flag, a file that cannot be read, and a character that the run does
  /// not know.
  shiftgrad::KeptText read(const SavedRun& run) const;
};

/// Scores a model on a text as `evaluate` does, and shows the progress on a terminal.
shiftgrad::Evaluation score(const shiftgrad::LanguageModel& model, const shiftgrad::KeptText& text,
                            shiftgrad::EvaluationConfig config,
                            std::vector<double>* losses = nullptr);

}  // namespace char_lm
