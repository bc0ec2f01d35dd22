#include "training.h"

#include <cmath>

#include "core/errors.h"
#include "examples/char_lm/fixed.h"
#include "examples/char_lm/flags.h"
#include "nn/atomic_file.h"
#include "nn/state_dict.h"

namespace seq2seq {

using char_lm::fixed;
using shiftgrad::EvaluationReport;
using shiftgrad::fail;
using shiftgrad::require;
using shiftgrad::StepReport;
using shiftgrad::text;

namespace {

shiftgrad::EncoderDecoder new_model(const TrainFlags& flags, const Data& data) {
  shiftgrad::Random random{.seed = flags.trainer.seed};
  return {model_config(flags.model, data.source_symbols.tokens(), data.target_symbols.tokens()),
          random};
}

/// The saved model, with what a checkpoint's config leaves out.
shiftgrad::EncoderDecoder saved_model(const TrainFlags& flags, SavedRun run) {
  set_dropout(flags.model, run.model);
  return make_model(run);
}

/// An update can spoil the weights without the loss before it showing that.
void check_finite(const shiftgrad::EncoderDecoder& model, int64_t step) {
  for (const auto& [name, value, decay] : parameters(model))
    for (int64_t n = 0; n < value.count(); ++n)
      require(std::isfinite(value.data()[n]), "step ", step, ": ", name, " is not finite");
}

}  // namespace

Training::Training(const TrainFlags& flags, const SavedRun* saved, const char_lm::RunFolder& folder)
    : flags_(flags),
      threads_(char_lm::limit_threads(flags.threads)),
      data_(read_data(flags, saved)),
      model_(saved ? saved_model(flags, *saved) : new_model(flags, data_)),
      trainer_(model_, data_.train, data_.validation, target_ends, flags.trainer),
      folder_(folder.lock ? folder : char_lm::make_run_folder(flags.out_dir)),
      progress_(flags.trainer.max_iters, 10 * flags.log_interval) {
  if (saved) {
    require(!saved->trainer.empty(), saved->source, ": has no state of a training to go on from");
    trainer_.resume(saved->trainer, saved->source);
    require(step() <= flags.trainer.max_iters, "--max_iters ", flags.trainer.max_iters,
            ": the run in ", saved->source, " has made ", step(), " steps");
    saved_step_ = step();
    progress_.start_at(step());
  }
}

void Training::run(const std::function<bool()>& should_stop) try {
  announce();
  shiftgrad::remove_abandoned_files(folder_.path);
  // From now on the folder is this run's, so that whatever ends it, it can go on.
  if (!saved_step_) save("last");
  metrics_.emplace(folder_.metrics(), step());
  trainer_.run({
      .on_step = [this](const StepReport& report) { on_step(report); },
      .on_evaluation = [this](const EvaluationReport& report) { on_evaluation(report); },
      .on_save = [this] { save("last"); },
      .should_stop = should_stop,
  });
  if (step() < flags_.trainer.max_iters)
    progress_.print(text("stopped after step ", step(), "; train --resume --out_dir ",
                         flags_.out_dir, " goes on"));
} catch (const shiftgrad::Error& error) {
  if (!saved_step_) throw;
  fail(error.what(), "; ", folder_.checkpoint("last"), " holds step ", *saved_step_);
}

void Training::announce() {
  progress_.print(text(flags_.model.encoder, " to ", flags_.model.decoder, " with ",
                       shiftgrad::parameter_count(model_), " parameters, on ",
                       data_name(flags_.data), ": ", data_.train.size(), " pairs to train on, ",
                       data_.validation.size(), " to validate on, ",
                       data_.source_symbols.known().size(), " and ",
                       data_.target_symbols.known().size(), " symbols"));
  if (saved_step_)
    progress_.print(text("goes on after step ", step(), " of ", flags_.trainer.max_iters));
}

void Training::on_step(const StepReport& report) {
  // Over the newest steps, for figures that do not flicker.
  double speed = static_cast<double>(report.tokens) / report.seconds;
  double newest = recent_speed_ == 0 ? 1 : 0.05;
  recent_loss_ += newest * (report.loss - recent_loss_);
  recent_speed_ += newest * (speed - recent_speed_);
  if (report.step % flags_.log_interval == 0) metrics_->write(report, recent_speed_);
  progress_.show(report.step, recent_loss_, recent_speed_);
}

void Training::on_evaluation(const EvaluationReport& report) {
  metrics_->write(report);
  evaluation_ = report;
  // Before the last checkpoint: a run that ends between both comes by here again.
  if (report.best) save("best");
  progress_.print(text("step ", report.step, "  train loss ", fixed(report.train.nats, 4),
                       "  validation loss ", fixed(report.validation.nats, 4), " nats per token",
                       report.best ? "  best" : ""));
}

void Training::save(const std::string& name) {
  check_finite(model_, step());
  SavedRun run{.source = {},
               .flags = flags_,
               .model = model_.config,
               .source_symbols = data_.source_symbols,
               .target_symbols = data_.target_symbols,
               .step = step(),
               .weights = state_dict(model_)};
  if (evaluation_ && evaluation_->step == step()) {
    run.train_loss = evaluation_->train.nats;
    run.validation_loss = evaluation_->validation.nats;
  }
  bool last = name == "last";
  if (last) run.trainer = trainer_.saved();
  write_run(folder_.checkpoint(name), run);
  if (last) saved_step_ = step();
}

}  // namespace seq2seq
