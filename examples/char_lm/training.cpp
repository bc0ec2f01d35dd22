#include "training.h"

#include "examples/common/fixed.h"
#include "examples/common/flags.h"
#include "examples/common/text.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/nn/state_dict.h"

namespace char_lm {

using common::fixed;
using common::limit_threads;
using common::RunFolder;
using common::text_name;
using common::TrainingRun;
using shiftgrad::RunState;
using shiftgrad::text;

namespace {

shiftgrad::LanguageModel new_model(const TrainFlags& flags, int64_t vocab_size) {
  shiftgrad::Random random{.seed = flags.trainer.seed};
  return {model_config(flags.model, vocab_size), random};
}

/// Returns the saved model, with dropout, which a checkpoint's config leaves out.
shiftgrad::LanguageModel saved_model(const TrainFlags& flags, const SavedRun& saved) {
  shiftgrad::Checkpoint checkpoint = saved.checkpoint;
  set_dropout(flags.model, checkpoint.model);
  return make_model(checkpoint, saved.source);
}

/// Returns the text about an evaluation. `characters` is the number that can be predicted in the
/// validation text; `eval` scores them all.
std::string scores(const shiftgrad::EvaluationReport& report, int64_t characters) {
  double nats = report.validation.nats, bits = report.validation.bits();
  int64_t scored = report.validation.tokens;
  return text(
      "train loss ", fixed(report.train.nats, 3), "  validation loss ", fixed(nats, 3), " = ",
      fixed(bits, 3), " bits per character",
      scored < characters ? text(" on the first ", scored, " of ", characters, " characters") : "");
}

}  // namespace

Training::Training(const TrainFlags& flags, std::shared_ptr<const Corpus> corpus,
                   const SavedRun* saved, const std::function<RunFolder()>& folder,
                   shiftgrad::Peers& peers)
    : flags_(flags),
      threads_(limit_threads(flags.threads)),
      corpus_(std::move(corpus)),
      model_(saved ? saved_model(flags, *saved) : new_model(flags, corpus_->vocabulary.size())),
      trainer_(model_, corpus_->train, corpus_->validation, flags.trainer, peers),
      run_(setup(), folder(), {flags.trainer.max_iters, flags.log_interval, flags.trainer.patience},
           peers) {
  set_product_precision(flags.precision);
}

TrainingRun::Setup Training::setup() {
  return {
      .model = model_,
      .trainer = trainer_,
      .description = text(flags_.model.model, " with ", shiftgrad::parameter_count(model_),
                          " parameters, on ", text_name(flags_.data), ": ", corpus_->train.size(),
                          " characters to train on, ", corpus_->validation.size(),
                          " to validate on, ", corpus_->vocabulary.size(), " distinct"),
      .scores =
          [this](const shiftgrad::EvaluationReport& report) {
            return scores(report, std::ssize(corpus_->validation) - 1);
          },
      .write = [this](const std::string& path, const RunState& state) { write(path, state); }};
}

void Training::resume(const SavedRun& saved) { run_.resume(saved.checkpoint.state, saved.source); }

void Training::write(const std::string& path, const RunState& state) const {
  shiftgrad::write_checkpoint(path, {.model = model_.config,
                                     .vocabulary = corpus_->vocabulary.codes(),
                                     .state = state,
                                     .training = flags_.to_json(),
                                     .weights = state_dict(model_)});
}

}  // namespace char_lm
