#pragma once

#include <functional>
#include <memory>

#include "core/machine/parallel.h"
#include "data.h"
#include "examples/apps/runs/training_run.h"
#include "examples.h"
#include "optim/pair_trainer.h"
#include "run.h"

namespace seq2seq {

/// The training of an encoder-decoder, checked and ready to start.
class Training {
 public:
  /// Prepares the training. `resolve_defaults` has been called on the flags. If `saved` is given,
  /// the training begins with its weights, and the data have its symbols. folder() is called for
  /// the run's folder once everything else is known to be good. Throws on bad input, before
  /// anything is overwritten.
  Training(const TrainFlags& flags, Data data, const SavedRun* saved,
           const std::function<apps::RunFolder()>& folder,
           shiftgrad::ProcessGroup& peers = shiftgrad::alone());

  /// Continues the run whose last checkpoint is `saved`. Throws as TrainingRun::resume does.
  void resume(const SavedRun& saved) { run_.resume(saved.state, saved.source); }

  /// Throws unless all peers are about to begin the same training.
  void check_peers() { trainer_.check_peers(); }

  void run(const std::function<bool()>& should_stop) { run_.run(should_stop); }

 private:
  apps::TrainingRun::Setup setup();
  void write(const std::string& path, const shiftgrad::RunState& state) const;

  TrainFlags flags_;
  std::shared_ptr<shiftgrad::ThreadLimit> threads_;
  Data data_;
  std::vector<Example> watched_;
  shiftgrad::EncoderDecoder model_;
  shiftgrad::PairTrainer trainer_;
  apps::TrainingRun run_;
};

}  // namespace seq2seq
