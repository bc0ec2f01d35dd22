#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/parallel.h"
#include "corpus.h"
#include "metrics.h"
#include "nn/checkpoint.h"
#include "progress.h"
#include "run_folder.h"
#include "train_flags.h"

namespace char_lm {

/// A training run that has been checked and may start. It reports on standard output, and leaves
/// checkpoints and metrics in its folder; of several peers, the first does.
class Training {
 public:
  /// The flags are settled. Begins with the weights of `saved`, if given, whose vocabulary is then
  /// that of the corpus. `folder` is the run's where it is locked already. Throws on bad input,
  /// before anything is overwritten.
  Training(const TrainFlags& flags, std::shared_ptr<const Corpus> corpus,
           const SavedRun* saved = nullptr, std::optional<RunFolder> folder = {},
           shiftgrad::Peers& peers = shiftgrad::alone());

  /// Goes on where the run was whose last checkpoint the training began with. Throws when that has
  /// no state to go on from, or one of another text.
  void resume(const SavedRun& saved);

  /// Throws unless all peers are about to begin the same training.
  void check_peers() const { trainer_.check_peers(); }

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

  void announce();
  void train(const std::function<bool()>& should_stop);
  void on_step(const shiftgrad::StepReport& report);
  void on_evaluation(const shiftgrad::EvaluationReport& report);
  void save();
  /// The model as it is now.
  shiftgrad::Checkpoint checkpoint() const;
  int64_t step() const { return trainer_.state().step; }
  bool is_first() const { return peers_.rank() == 0; }

  TrainFlags flags_;
  shiftgrad::Peers& peers_;
  std::shared_ptr<shiftgrad::ThreadLimit> threads_;
  std::shared_ptr<const Corpus> corpus_;
  shiftgrad::LanguageModel model_;
  shiftgrad::Trainer trainer_;
  RunFolder folder_;
  std::optional<Metrics> metrics_;
  Progress progress_;
  std::optional<shiftgrad::EvaluationReport> evaluation_;
  /// That of the last checkpoint, where this run has one.
  std::optional<int64_t> saved_step_;
  RecentMean loss_, tokens_per_second_;
  std::vector<double> speeds_;
};

}  // namespace char_lm
