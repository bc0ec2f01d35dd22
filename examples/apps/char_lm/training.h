#pragma once

#include <functional>
#include <memory>

#include "core/machine/parallel.h"
#include "corpus.h"
#include "examples/apps/runs/training_run.h"
#include "nn/models/checkpoint.h"
#include "optim/trainer.h"
#include "run_folder.h"
#include "train_flags.h"

namespace char_lm {

/// The training of a language model, checked and ready to start.
class Training {
 public:
  /// Prepares the training. `resolve_defaults` has been called on the flags. If `saved` is given,
  /// the training begins with its weights, and the corpus has its vocabulary. folder() is called
  /// for the run's folder once everything else is known to be good. Throws on bad input, before
  /// anything is overwritten.
  Training(const TrainFlags& flags, std::shared_ptr<const Corpus> corpus, const SavedRun* saved,
           const std::function<apps::RunFolder()>& folder,
           shiftgrad::ProcessGroup& peers = shiftgrad::alone());

  /// Continues the run whose last checkpoint is `saved`. Throws as TrainingRun::resume does.
  void resume(const SavedRun& saved);

  /// Throws unless all peers are about to begin the same training.
  void check_peers() { trainer_.check_peers(); }

  void run(const std::function<bool()>& should_stop) { run_.run(should_stop); }
  double tokens_per_second() const { return run_.tokens_per_second(); }

 private:
  apps::TrainingRun::Setup setup();
  /// Returns lines about what a reader may not expect.
  std::vector<std::string> notes() const;
  /// Returns what the model writes now, and what it attends to.
  apps::Observation observed() const;
  void write(const std::string& path, const shiftgrad::RunState& state) const;

  TrainFlags flags_;
  std::shared_ptr<shiftgrad::ThreadLimit> threads_;
  std::shared_ptr<const Corpus> corpus_;
  shiftgrad::LanguageModel model_;
  /// Null if there are none.
  std::unique_ptr<const AuxiliaryLosses> auxiliary_;
  shiftgrad::Trainer trainer_;
  apps::TrainingRun run_;
};

}  // namespace char_lm
