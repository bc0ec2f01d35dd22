#include "scored_text.h"

#include "corpus.h"
#include "examples/apps/draw/progress.h"

namespace char_lm {

using apps::add_flag;
using apps::Progress;

void ScoredText::add_flags(CLI::App& app) {
  add_flag(app, "data", data, "FILE",
           "text file to score (default: the validation text of the training)");
  add_flag(app, "eval_split", eval_split, "SHARE",
           "share of the text, at its end, to score, 1 for all (default: as in training)",
           range::share);
}

shiftgrad::KeptText ScoredText::read(const SavedRun& run) const {
  TrainFlags texts = run.flags;
  shiftgrad::require(data || !texts.texts_left_out, run.source,
                     ": does not say where its text is; --data names one to score");
  if (data || eval_split) {
    texts.data = data.value_or(texts.data);
    texts.val_data.clear();
  }
  texts.eval_split = eval_split.value_or(texts.eval_split);
  const char* remedy = data ? "" : "; --data names another text";
  return read_corpus(texts, &run.vocabulary, NewCharacters::refused, remedy)->validation;
}

shiftgrad::Evaluation score(const shiftgrad::LanguageModel& model, const shiftgrad::KeptText& text,
                            shiftgrad::EvaluationConfig config, std::vector<double>* losses) {
  Progress progress("characters");
  config.progress = [&progress, own = config.progress](int64_t done, int64_t total) {
    progress.show(done, total);
    if (own) own(done, total);
  };
  return evaluate(model, text, config, losses);
}

}  // namespace char_lm
