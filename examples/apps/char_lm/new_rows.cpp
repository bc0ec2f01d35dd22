#include "new_rows.h"

#include <algorithm>
#include <vector>

#include "core/errors.h"
#include "examples/apps/runs/kept_rows.h"
#include "nn/state_dict.h"

namespace char_lm {

namespace {

/// Returns for each token of the old vocabulary its token in the new one.
std::vector<size_t> new_tokens(const Vocabulary& before, const Vocabulary& after) {
  std::vector<size_t> tokens;
  for (int32_t code : before.codes()) {
    auto place = std::ranges::lower_bound(after.codes(), code);
    shiftgrad::require(place != after.codes().end() && *place == code,
                       "a vocabulary that lacks the code ", code);
    tokens.push_back(static_cast<size_t>(place - after.codes().begin()));
  }
  return tokens;
}

}  // namespace

SavedRun with_vocabulary(const SavedRun& run, const Vocabulary& vocabulary, uint64_t seed) {
  SavedRun result = run;
  result.vocabulary = vocabulary;
  result.checkpoint.vocabulary = vocabulary.codes();
  result.checkpoint.model.vocab_size = vocabulary.size();
  result.checkpoint.state.trainer.clear();
  shiftgrad::MixerMaker mixer = own_mixer(run.flags.model);
  make_model(run.checkpoint, run.source, mixer);  // or throws when the weights do not fit
  shiftgrad::Random random{.seed = seed};
  auto weights = state_dict(shiftgrad::LanguageModel(result.checkpoint.model, random, mixer));
  std::vector<size_t> tokens = new_tokens(run.vocabulary, vocabulary);
  apps::keep_rows(
      run.checkpoint.weights, [&](size_t row) { return tokens[row]; }, weights);
  result.checkpoint.weights = std::move(weights);
  return result;
}

}  // namespace char_lm
