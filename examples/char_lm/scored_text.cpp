#include "scored_text.h"

#include "corpus.h"

namespace char_lm {

void ScoredText::add_flags(CLI::App& app) {
  add_flag(app, "data", data, "FILE", "text (default: the one trained on)");
  add_flag(app, "eval_split", eval_split, "SHARE",
           "of the text, at its end, that is scored, 1 for all (default: as in training)",
           range::share);
}

std::vector<int32_t> ScoredText::read(const SavedRun& run) const {
  TrainFlags texts = run.flags;
  if (data || eval_split) {
    texts.data = data.value_or(texts.data);
    texts.val_data.clear();
  }
  texts.eval_split = eval_split.value_or(texts.eval_split);
  return read_corpus(texts, &run.vocabulary)->validation;
}

}  // namespace char_lm
