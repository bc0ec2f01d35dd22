#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/parallel.h"
#include "metrics.h"
#include "nn/checkpoint.h"
#include "progress.h"
#include "run_folder.h"
#include "train_flags.h"
#include "vocabulary.h"

namespace char_lm {

/// A training run that has been checked and may start. It reports on standard output, and leaves
/// checkpoints and metrics in its folder.
class Training {
 public:
  /// The flags are settled. Throws on bad input, before anything is overwritten.
  explicit Training(const TrainFlags& flags);
  void run();

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
  void on_step(const shiftgrad::StepReport& report);
  void on_evaluation(const shiftgrad::EvaluationReport& report);
  shiftgrad::Checkpoint checkpoint(const shiftgrad::EvaluationReport& report) const;

  TrainFlags flags_;
  std::shared_ptr<shiftgrad::ThreadLimit> threads_;
  std::string text_;
  Vocabulary vocabulary_;
  std::vector<int32_t> tokens_;
  shiftgrad::LanguageModel model_;
  shiftgrad::Trainer trainer_;
  RunFolder folder_;
  Metrics metrics_;
  Progress progress_;
  RecentMean loss_, tokens_per_second_;
  std::vector<double> speeds_;
};

}  // namespace char_lm
