#include "training.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "fixed.h"
#include "flags.h"
#include "nn/atomic_file.h"
#include "nn/state_dict.h"
#include "text.h"

namespace char_lm {

using shiftgrad::EvaluationReport;
using shiftgrad::fail;
using shiftgrad::require;
using shiftgrad::StepReport;
using shiftgrad::text;

namespace {

shiftgrad::LanguageModel new_model(const TrainFlags& flags, int64_t vocab_size) {
  shiftgrad::Random random{.seed = flags.trainer.seed};
  return {model_config(flags.model, vocab_size), random};
}

/// The saved model, with what a checkpoint's config leaves out.
shiftgrad::LanguageModel saved_model(const TrainFlags& flags, const SavedRun& saved) {
  shiftgrad::Checkpoint checkpoint = saved.checkpoint;
  set_dropout(flags.model, checkpoint.model);
  return make_model(checkpoint, saved.source);
}

/// An update can spoil the weights without the loss before it showing that.
void check_finite(const shiftgrad::LanguageModel& model, int64_t step) {
  for (const auto& [name, value, decay] : parameters(model))
    for (int64_t n = 0; n < value.count(); ++n)
      require(std::isfinite(value.data()[n]), "step ", step, ": ", name, " is not finite");
}

}  // namespace

double Training::RecentMean::add(double value) {
  constexpr double newest = 0.05;
  weight_ += newest * (1 - weight_);
  sum_ += newest * (value - sum_);
  return sum_ / weight_;
}

Training::Training(const TrainFlags& flags, std::shared_ptr<const Corpus> corpus,
                   const SavedRun* saved, std::optional<RunFolder> folder, shiftgrad::Peers& peers)
    : flags_(flags),
      peers_(peers),
      threads_(limit_threads(flags.threads)),
      corpus_(std::move(corpus)),
      model_(saved ? saved_model(flags, *saved) : new_model(flags, corpus_->vocabulary.size())),
      trainer_(model_, corpus_->train, corpus_->validation, flags.trainer, peers),
      folder_(folder       ? *folder
              : is_first() ? make_run_folder(flags.out_dir)
                           : RunFolder{flags.out_dir}),
      progress_(flags.trainer.max_iters, 10 * flags.log_interval, peers.size() > 1) {}

void Training::resume(const SavedRun& saved) {
  require(!saved.checkpoint.trainer.empty(), saved.source,
          ": has no state of a training to go on from");
  trainer_.resume(saved.checkpoint.trainer, saved.source);
  require(step() == saved.checkpoint.step, saved.source, ": weights of step ",
          saved.checkpoint.step, " with the state of step ", step());
  require(step() <= flags_.trainer.max_iters, "--max_iters ", flags_.trainer.max_iters,
          ": the run in ", saved.source, " has made ", step(), " steps");
  saved_step_ = step();
  progress_.start_at(step());
}

void Training::run(const std::function<bool()>& should_stop) try {
  train(should_stop);
  // Whoever ends by a signal, and with it all others, waits for the last checkpoint.
  peers_.gather({});
} catch (const shiftgrad::Error& error) {
  if (!saved_step_ || !is_first()) throw;
  fail(error.what(), "; ", folder_.checkpoint("last"), " holds step ", *saved_step_);
}

void Training::train(const std::function<bool()>& should_stop) {
  if (is_first()) {
    announce();
    shiftgrad::remove_abandoned_files(folder_.path);
  }
  // From now on the folder is this run's, so that whatever ends it, it can go on.
  if (!saved_step_) save();
  if (is_first()) metrics_.emplace(folder_.metrics(), step());
  trainer_.run({
      .on_step = [this](const StepReport& report) { on_step(report); },
      .on_evaluation = [this](const EvaluationReport& report) { on_evaluation(report); },
      .on_save = [this] { save(); },
      .should_stop = should_stop,
  });
  if (!is_first()) return;
  if (trainer_.out_of_patience())
    progress_.print(text("stopped after step ", step(), ": ", flags_.trainer.patience,
                         " evaluations were no better than the best"));
  else if (step() < flags_.trainer.max_iters)
    progress_.print(text("stopped after step ", step(), "; train --resume --out_dir ",
                         flags_.out_dir, " goes on"));
}

void Training::announce() {
  progress_.print(text(flags_.model.model, " with ", shiftgrad::parameter_count(model_),
                       " parameters, on ", text_name(flags_.data), ": ", corpus_->train.size(),
                       " characters to train on, ", corpus_->validation.size(), " to validate on, ",
                       corpus_->vocabulary.size(), " different"));
  if (saved_step_)
    progress_.print(text("goes on after step ", step(), " of ", flags_.trainer.max_iters));
}

void Training::on_step(const StepReport& report) {
  if (!is_first()) return;
  double loss = loss_.add(report.loss);
  speeds_.push_back(static_cast<double>(report.tokens) / report.seconds);
  double speed = tokens_per_second_.add(speeds_.back());
  if (report.step % flags_.log_interval == 0) metrics_->write(report, speed);
  progress_.show(report.step, loss, speed);
}

void Training::on_evaluation(const EvaluationReport& report) {
  if (!is_first()) return;
  metrics_->write(report);
  evaluation_ = report;
  // Before the last checkpoint: a run that ends between both comes by here again.
  if (report.best) {
    check_finite(model_, step());
    write_checkpoint(folder_.checkpoint("best"), checkpoint());
  }
  double nats = report.validation.nats, bits = report.validation.bits();
  progress_.print(text("step ", report.step, "  train loss ", fixed(report.train.nats, 3),
                       "  validation loss ", fixed(nats, 3), " = ", fixed(bits, 3),
                       " bits per character", report.best ? "  best" : ""));
}

void Training::save() {
  auto state = trainer_.saved();  // takes all peers
  if (!is_first()) return;
  check_finite(model_, step());
  shiftgrad::Checkpoint last = checkpoint();
  last.trainer = std::move(state);
  write_checkpoint(folder_.checkpoint("last"), last);
  saved_step_ = step();
}

shiftgrad::Checkpoint Training::checkpoint() const {
  shiftgrad::Checkpoint result{
      .model = model_.config,
      .vocabulary = corpus_->vocabulary.codes(),
      .step = step(),
      .training = flags_.to_json(),
      .weights = state_dict(model_),
  };
  if (evaluation_ && evaluation_->step == step()) {
    result.train_loss = evaluation_->train.nats;
    result.validation_loss = evaluation_->validation.nats;
  }
  return result;
}

double Training::tokens_per_second() const {
  std::vector<double> speeds = speeds_;
  if (speeds.empty()) return 0;
  auto middle = speeds.begin() + std::ssize(speeds) / 2;
  std::nth_element(speeds.begin(), middle, speeds.end());
  return *middle;
}

}  // namespace char_lm
