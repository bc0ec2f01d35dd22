#include "training.h"

#include <algorithm>

#include "core/errors.h"
#include "fixed.h"
#include "flags.h"
#include "nn/state_dict.h"
#include "text.h"

namespace char_lm {

using shiftgrad::EvaluationReport;
using shiftgrad::StepReport;
using shiftgrad::text;

namespace {

shiftgrad::LanguageModel new_model(const TrainFlags& flags, int64_t vocab_size) {
  shiftgrad::Random random{.seed = flags.trainer.seed};
  return {model_config(flags.model, vocab_size), random};
}

}  // namespace

double Training::RecentMean::add(double value) {
  constexpr double newest = 0.05;
  weight_ += newest * (1 - weight_);
  sum_ += newest * (value - sum_);
  return sum_ / weight_;
}

Training::Training(const TrainFlags& flags)
    : flags_(flags),
      threads_(limit_threads(flags.threads)),
      text_(read_text(flags.data)),
      vocabulary_(text_),
      tokens_(vocabulary_.encode(text_, text_name(flags.data))),
      model_(new_model(flags, vocabulary_.size())),
      trainer_(model_, split(tokens_).train, split(tokens_).validation, flags.trainer),
      folder_(make_run_folder(flags.out_dir)),
      metrics_(folder_.metrics()),
      progress_(flags.trainer.max_iters, 10 * flags.log_interval) {}

void Training::run() {
  announce();
  trainer_.run({
      .on_step = [this](const StepReport& report) { on_step(report); },
      .on_evaluation = [this](const EvaluationReport& report) { on_evaluation(report); },
      .should_stop = {},
  });
}

void Training::announce() {
  Split parts = split(tokens_);
  progress_.print(text(flags_.model.model, " with ", shiftgrad::parameter_count(model_),
                       " parameters, on ", text_name(flags_.data), ": ", parts.train.size(),
                       " characters to train on, ", parts.validation.size(), " to validate on, ",
                       vocabulary_.size(), " different"));
}

void Training::on_step(const StepReport& report) {
  double loss = loss_.add(report.loss);
  speeds_.push_back(static_cast<double>(report.tokens) / report.seconds);
  double speed = tokens_per_second_.add(speeds_.back());
  if (report.step % flags_.log_interval == 0) metrics_.write(report, speed);
  progress_.show(report.step, loss, speed);
}

void Training::on_evaluation(const EvaluationReport& report) {
  metrics_.write(report);
  shiftgrad::Checkpoint saved = checkpoint(report);
  write_checkpoint(folder_.checkpoint("last"), saved);
  if (report.best) write_checkpoint(folder_.checkpoint("best"), saved);
  double nats = report.validation.nats, bits = report.validation.bits();
  progress_.print(text("step ", report.step, "  train loss ", fixed(report.train.nats, 3),
                       "  validation loss ", fixed(nats, 3), " = ", fixed(bits, 3),
                       " bits per character", report.best ? "  best" : ""));
}

shiftgrad::Checkpoint Training::checkpoint(const EvaluationReport& report) const {
  return {
      .model = model_.config,
      .vocabulary = vocabulary_.bytes(),
      .step = report.step,
      .train_loss = report.train.nats,
      .validation_loss = report.validation.nats,
      .training = flags_.to_json(),
      .weights = state_dict(model_),
  };
}

double Training::tokens_per_second() const {
  std::vector<double> speeds = speeds_;
  if (speeds.empty()) return 0;
  auto middle = speeds.begin() + std::ssize(speeds) / 2;
  std::nth_element(speeds.begin(), middle, speeds.end());
  return *middle;
}

}  // namespace char_lm
