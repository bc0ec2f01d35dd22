#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics.h"
#include "nn/models/run_file.h"
#include "optim/training_loop.h"
#include "out_folder.h"
#include "stop_request.h"
#include "training_progress.h"

namespace apps {

/// A training run in progress. It reports on standard output, and writes checkpoints and metrics to
/// its folder. Of several peers, only the first does this.
class TrainingRun {
 public:
  /// A model, its trainer, and how the program describes and writes the model.
  struct Setup {
    const shiftgrad::Module& model;
    shiftgrad::TrainingLoop& trainer;
    /// Description of the model and the data, printed at the start.
    std::string description;
    /// What a reader may not expect, such as what evaluations leave out: lines to print at the
    /// start.
    std::vector<std::string> notes{};
    /// Returns the text to print about an evaluation.
    std::function<std::string(const shiftgrad::EvaluationReport&)> scores;
    /// Returns what to note of the model as it is now, without its step; may be empty. It draws from
    /// no random stream of the training.
    std::function<Observation()> observe{};
    /// Writes a checkpoint of the model as it is now. The best checkpoint has no state of the
    /// trainer.
    std::function<void(const std::string& path, const shiftgrad::RunState& state)> write;
  };
  struct Options {
    int64_t max_iters, log_interval, patience;
  };

  /// Prepares the run. `folder` is --out_dir, which exists and is locked.
  TrainingRun(Setup setup, RunFolder folder, const Options& options,
              shiftgrad::ProcessGroup& peers);

  /// Continues the run from its last checkpoint `source`, from which the model was loaded. Throws
  /// when that has no state to continue from, or one that does not fit.
  void resume(const shiftgrad::RunState& saved, const std::string& source);

  /// Trains until the last step, or until `should_stop`, which may be empty, returns true. Throws
  /// one line for any failure, and names the checkpoint that is left.
  void run(const std::function<bool()>& should_stop);

  /// Returns the speed of the typical step.
  double tokens_per_second() const;

 private:
  /// Mean over the newest steps, so that the figure shown does not flicker.
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
  void observe();
  void save();
  /// Prints why the training ended before its last step, if it did.
  void explain_end();
  shiftgrad::RunState now() const;
  int64_t step() const { return setup_.trainer.state().step; }
  bool is_first() const { return peers_.rank() == 0; }

  Setup setup_;
  RunFolder folder_;
  Options options_;
  shiftgrad::ProcessGroup& peers_;
  std::optional<Metrics> metrics_;
  TrainingProgress progress_;
  std::optional<shiftgrad::EvaluationReport> evaluation_;
  /// Step of the last checkpoint, if this run has one.
  std::optional<int64_t> saved_step_;
  RecentMean loss_, tokens_per_second_;
  std::vector<double> speeds_;
  /// Time of the steps since the last line of metrics.
  double seconds_ = 0;
};

/// Prints where the run of the folder is saved, and commands that may come next if it has
/// a best checkpoint, which they read; a training of no steps has none.
void print_ending(const std::string& out_dir, const std::vector<std::string>& next);

/// Trains until the end or a signal, and throws StoppedBySignal after the latter. At the end, the
/// first of the peers prints what print_ending does.
template <class Training>
void train_until_signal(std::unique_ptr<Training> training, const shiftgrad::ProcessGroup& peers,
                        const std::string& out_dir, const std::vector<std::string>& next) {
  StopRequest stop;
  training->run([&] { return stop.signal() != 0; });
  training.reset();
  stop.check();
  if (peers.rank() == 0) print_ending(out_dir, next);
}

}  // namespace apps
