#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics.h"
#include "out_folder.h"
#include "progress.h"
#include "shiftgrad/nn/models/run_state.h"
#include "shiftgrad/optim/training_loop.h"
#include "stop_request.h"

namespace char_lm {

/// A training run under way. It reports on standard output, and leaves checkpoints and metrics in
/// its folder; of several peers, the first does.
class TrainingRun {
 public:
  /// What is trained, by which trainer, and what is the program's own of it.
  struct Subject {
    const shiftgrad::Module& model;
    shiftgrad::TrainingLoop& trainer;
    /// Said at the start: the model and the data.
    std::string description;
    /// What is said of an evaluation.
    std::function<std::string(const shiftgrad::EvaluationReport&)> scores;
    /// Writes a checkpoint of the model as it is now. The best has nothing of the trainer's.
    std::function<void(const std::string& path, const shiftgrad::RunState& state)> write;
  };
  struct Lengths {
    int64_t max_iters, log_interval, patience;
  };

  /// `folder` is --out_dir, locked and made.
  TrainingRun(Subject subject, RunFolder folder, const Lengths& lengths, shiftgrad::Peers& peers);

  /// Goes on where the run was whose last checkpoint, `source`, the model is from. Throws when that
  /// has no state to go on from, or one that does not fit.
  void resume(const shiftgrad::RunState& saved, const std::string& source);

  /// Until the last step, or the first after which `should_stop`, which may be empty, says so.
  /// Throws one line at whatever fails, which names the checkpoint that is left.
  void run(const std::function<bool()>& should_stop);

  /// Of the typical step.
  double tokens_per_second() const;

 private:
  /// The mean over the newest steps, for a figure that does not flicker.
  class RecentMean {
   public:
    double add(double value);

   private:
    double sum_ = 0, weight_ = 0;
  };

  void train(const std::function<bool()>& should_stop);
  void announce();
  void on_step(const shiftgrad::StepReport& report);
  void on_evaluation(const shiftgrad::EvaluationReport& report);
  void save();
  /// Says why the training ended before its last step, if it did.
  void explain_end();
  shiftgrad::RunState now() const;
  int64_t step() const { return subject_.trainer.state().step; }
  bool is_first() const { return peers_.rank() == 0; }

  Subject subject_;
  RunFolder folder_;
  Lengths lengths_;
  shiftgrad::Peers& peers_;
  std::optional<Metrics> metrics_;
  Progress progress_;
  std::optional<shiftgrad::EvaluationReport> evaluation_;
  /// That of the last checkpoint, where this run has one.
  std::optional<int64_t> saved_step_;
  RecentMean loss_, tokens_per_second_;
  std::vector<double> speeds_;
};

/// Trains until the end or a signal; which of both, the exit status says.
template <class Training>
void train_until_signal(std::unique_ptr<Training> training) {
  StopRequest stop;
  training->run([&] { return stop.signal() != 0; });
  training.reset();
  if (stop.signal() != 0) leave_by(stop.signal());
}

}  // namespace char_lm
