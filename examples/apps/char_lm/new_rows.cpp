#include "new_rows.h"

#include <algorithm>
#include <vector>

#include "core/errors.h"
#include "nn/state_dict.h"

namespace char_lm {

using shiftgrad::StoredTensor;

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

/// Copies the rows of `from`, one for each of the tokens, to these places in `to`.
void copy_rows(const StoredTensor& from, const std::vector<size_t>& tokens, StoredTensor& to) {
  size_t size = from.bytes.size() / tokens.size();
  for (size_t row = 0; row < tokens.size(); ++row)
    std::copy_n(from.bytes.begin() + static_cast<std::ptrdiff_t>(row * size), size,
                to.bytes.begin() + static_cast<std::ptrdiff_t>(tokens[row] * size));
}

}  // namespace

SavedRun with_vocabulary(const SavedRun& run, const Vocabulary& vocabulary, uint64_t seed) {
  SavedRun result = run;
  result.vocabulary = vocabulary;
  result.checkpoint.vocabulary = vocabulary.codes();
  result.checkpoint.model.vocab_size = vocabulary.size();
  result.checkpoint.state.trainer.clear();
  make_model(run.checkpoint, run.source);  // or throws when the weights do not fit
  shiftgrad::Random random{.seed = seed};
  auto weights = state_dict(shiftgrad::LanguageModel(result.checkpoint.model, random));
  std::vector<size_t> tokens = new_tokens(run.vocabulary, vocabulary);
  for (const auto& [name, before] : run.checkpoint.weights) {
    StoredTensor& after = weights.at(name);
    // Where only the vocabulary differs, only tensors with a row for each token do.
    if (before.shape == after.shape)
      after = before;
    else
      copy_rows(before, tokens, after);
  }
  result.checkpoint.weights = std::move(weights);
  return result;
}

}  // namespace char_lm
