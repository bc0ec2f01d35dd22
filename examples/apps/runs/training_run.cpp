#include "training_run.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <utility>

#include "core/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "examples/apps/draw/printable.h"
#include "shell_words.h"
#include "weights.h"

namespace apps {

using shiftgrad::EvaluationReport;
using shiftgrad::require;
using shiftgrad::RunState;
using shiftgrad::StepReport;
using shiftgrad::text;

double TrainingRun::RecentMean::add(double value) {
  constexpr double newest = 0.05;
  weight_ += newest * (1 - weight_);
  sum_ += newest * (value - sum_);
  return sum_ / weight_;
}

namespace {

/// Returns the step that the metadata of a checkpoint name, or an empty text if it cannot be read.
std::string step_in(const std::string& checkpoint) {
  try {
    return shiftgrad::list_safetensors(checkpoint).metadata["step"];
  } catch (const shiftgrad::Error&) {
    return "";
  }
}

}  // namespace

TrainingRun::TrainingRun(Setup setup, RunFolder folder, const Options& options,
                         shiftgrad::ProcessGroup& peers)
    : setup_(std::move(setup)),
      folder_(std::move(folder)),
      options_(options),
      peers_(peers),
      progress_(options.max_iters, 10 * options.log_interval, peers.size() > 1) {}

void TrainingRun::resume(const RunState& saved, const std::string& source) {
  require(!saved.trainer.empty(), source, ": has no training state to continue from");
  setup_.trainer.resume(saved.trainer, source);
  require(step() == saved.step, source, ": weights of step ", saved.step,
          " with the state of step ", step());
  require(step() <= options_.max_iters, "--max_iters ", options_.max_iters, ": the run in ", source,
          " is already at step ", step());
  saved_step_ = step();
  progress_.start_at(step());
}

void TrainingRun::run(const std::function<bool()>& should_stop) try {
  train(should_stop);
  // A peer that ends by a signal ends all others, so all wait for the last checkpoint.
  peers_.gather({});
} catch (const shiftgrad::Error& error) {
  std::string last = folder_.checkpoint("last");
  if (!saved_step_ || !is_first() || step_in(last) != text(*saved_step_)) throw;
  shiftgrad::fail(error.what(), "; ", last, " holds step ", *saved_step_);
}

void TrainingRun::train(const std::function<bool()>& should_stop) {
  if (is_first()) {
    announce();
    shiftgrad::remove_abandoned_files(folder_.path);
  }
  // From now on the folder belongs to this run, which can be resumed whatever ends it.
  if (!saved_step_) {
    save();
    // This checkpoint is from a run that this one replaces.
    if (is_first()) std::filesystem::remove(folder_.checkpoint("best"));
  }
  if (is_first()) metrics_.emplace(folder_.metrics(), step());
  setup_.trainer.run({
      .on_step = [this](const StepReport& report) { on_step(report); },
      .on_evaluation_progress =
          [this](int64_t done, int64_t total) { progress_.show_evaluation(step(), done, total); },
      .on_evaluation = [this](const EvaluationReport& report) { on_evaluation(report); },
      .on_save = [this] { save(); },
      .should_stop = should_stop,
  });
  if (is_first()) explain_end();
}

void TrainingRun::announce() {
  progress_.print(setup_.description);
  for (const std::string& note : setup_.notes) progress_.print(note);
  if (saved_step_)
    progress_.print(text("continues after step ", step(), " of ", options_.max_iters));
}

void TrainingRun::explain_end() {
  if (setup_.trainer.out_of_patience())
    progress_.print(text("stopped after step ", step(), ": ", options_.patience,
                         " evaluations in a row without a new best"));
  else if (step() < options_.max_iters || setup_.trainer.state().evaluation_due)
    progress_.print(text("stopped after step ", step(), "; train --resume --out_dir ",
                         shell_word(as_argument(folder_.path.string())), " continues"));
}

void TrainingRun::on_step(const StepReport& report) {
  if (!is_first()) return;
  double loss = loss_.add(report.loss);
  speeds_.push_back(static_cast<double>(report.tokens) / report.seconds);
  double speed = tokens_per_second_.add(speeds_.back());
  seconds_ += report.seconds;
  // A curve begins where the training does.
  if (report.step == 1 || report.step % options_.log_interval == 0)
    metrics_->write(report, speed, std::exchange(seconds_, 0));
  progress_.show(report.step, loss, speed);
}

void TrainingRun::on_evaluation(const EvaluationReport& report) {
  if (!is_first()) return;
  metrics_->write(report);
  observe();
  evaluation_ = report;
  // The best checkpoint is written before the last. A run that ends in between comes here again
  // when it is resumed.
  if (report.best) {
    check_weights(setup_.model, text("step ", step()));
    setup_.write(folder_.checkpoint("best"), now());
  }
  progress_.print(
      text("step ", report.step, "  ", setup_.scores(report), report.best ? "  best" : ""));
}

/// What cannot be observed, as of weights that are not finite, ends no training.
void TrainingRun::observe() {
  if (!setup_.observe) return;
  Observation observed;
  try {
    observed = setup_.observe();
  } catch (const shiftgrad::Error&) {
    return;
  }
  observed.step = static_cast<double>(step());
  metrics_->write(observed);
}

void TrainingRun::save() {
  RunState last = now();
  last.trainer = setup_.trainer.saved_view();  // needs all peers
  if (!is_first()) return;
  // An update can spoil the weights although the loss before it was finite.
  check_weights(setup_.model, text("step ", step()));
  setup_.write(folder_.checkpoint("last"), last);
  saved_step_ = step();
}

RunState TrainingRun::now() const {
  RunState state{.step = step()};
  if (evaluation_ && evaluation_->step == step()) {
    state.train_loss = evaluation_->train.nats;
    state.validation_loss = evaluation_->validation.nats;
  }
  return state;
}

double TrainingRun::tokens_per_second() const {
  std::vector<double> speeds = speeds_;
  if (speeds.empty()) return 0;
  auto middle = speeds.begin() + std::ssize(speeds) / 2;
  std::nth_element(speeds.begin(), middle, speeds.end());
  return *middle;
}

void print_ending(const std::string& out_dir, const std::vector<std::string>& next) {
  RunFolder folder{out_dir};
  bool has_best = std::filesystem::exists(folder.checkpoint("best"));
  std::cout << "saved in " << printable(out_dir, longest_line) << ": "
            << (has_best ? "best.safetensors and " : "") << "last.safetensors\n";
  for (const std::string& command : has_best ? next : std::vector<std::string>{})
    std::cout << (command == next.front() ? "next: " : "      ") << command << '\n';
  std::cout << std::flush;
}

}  // namespace apps
