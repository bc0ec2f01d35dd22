#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "context_losses.h"
#include "effective_context.h"
#include "nn/models/language_model.h"
#include "run_folder.h"

namespace char_lm {

/// A run to score: its model, and the text as characters and as tokens.
struct ScoredRun {
  std::string name;
  std::shared_ptr<shiftgrad::LanguageModel> model;
  int64_t block_size;
  std::string text;
  std::vector<int32_t> tokens;
};

/// Returns a run to score on these tokens, under a name.
ScoredRun scored_run(const SavedRun& saved, const std::string& name,
                     const std::vector<int32_t>& tokens);

/// Whether the model has positions for that many tokens.
bool can_read(const ScoredRun& run, int64_t length);

/// Function report(done) that receives the number of characters fed so far.
using Report = std::function<void(int64_t done)>;

/// One of the two ways to score a text, by contexts or by blocks of n characters.
struct Scoring {
  /// Returns how many characters are fed.
  std::function<int64_t(const ScoredRun&, int64_t n)> fed;
  /// Returns -log p of each scored character.
  std::function<std::vector<double>(const ScoredRun&, int64_t n, const Report&)> losses;
};

/// How many characters to score unless it is said.
constexpr int64_t usual_characters = 2000;

/// Scoring of up to `count` characters, spread evenly over a text of `characters`, each predicted
/// from exactly the n before it. No n is greater than `longest`.
Scoring exact_scoring(int64_t characters, int64_t longest, int64_t count);

/// Scoring of the whole text, cut into blocks of n characters.
Scoring block_scoring();

/// How a model's loss depends on the length of what it reads.
struct ContextCurve {
  std::string name;
  /// Length of the model's blocks in training.
  int64_t trained = 0;
  /// How many characters were scored for each length.
  int64_t characters = 0;
  /// The loss for each of some lengths, as far as the model can read.
  std::vector<MeanLoss> losses;
};

/// Returns the curve of a run from its losses for each length.
ContextCurve curve_of(const ScoredRun& run, const ModelLosses& losses);

}  // namespace char_lm
