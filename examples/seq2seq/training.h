#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/parallel.h"
#include "data.h"
#include "examples/char_lm/metrics.h"
#include "examples/char_lm/out_folder.h"
#include "examples/char_lm/progress.h"
#include "optim/pair_trainer.h"
#include "run.h"

namespace seq2seq {

/// A training run that has been checked and may start. It reports on standard output, and leaves
/// checkpoints and metrics in its folder.
class Training {
 public:
  /// The flags are settled. Goes on where the run was whose last checkpoint is `saved`, if given.
  /// `folder` is --out_dir where that has been locked. Throws on bad input, before anything is
  /// overwritten.
  explicit Training(const TrainFlags& flags, const SavedRun* saved = nullptr,
                    const char_lm::RunFolder& folder = {});

  /// Until the last step, or the first after which `should_stop` says so. Throws one line at
  /// whatever fails.
  void run(const std::function<bool()>& should_stop);

 private:
  void announce();
  void on_step(const shiftgrad::StepReport& report);
  void on_evaluation(const shiftgrad::EvaluationReport& report);
  void save(const std::string& name);
  int64_t step() const { return trainer_.state().step; }

  TrainFlags flags_;
  std::shared_ptr<shiftgrad::ThreadLimit> threads_;
  Data data_;
  shiftgrad::EncoderDecoder model_;
  shiftgrad::PairTrainer trainer_;
  char_lm::RunFolder folder_;
  std::optional<char_lm::Metrics> metrics_;
  char_lm::Progress progress_;
  std::optional<shiftgrad::EvaluationReport> evaluation_;
  /// That of the last checkpoint, where this run has one.
  std::optional<int64_t> saved_step_;
  double recent_loss_ = 0, recent_speed_ = 0;
};

}  // namespace seq2seq
