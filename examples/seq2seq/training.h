#pragma once

#include <functional>
#include <memory>

#include "data.h"
#include "examples/common/training_run.h"
#include "run.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/optim/pair_trainer.h"

namespace seq2seq {

/// An encoder-decoder's training that has been checked and may start.
class Training {
 public:
  /// The flags are settled. Begins with the weights and the symbols of `saved`, if given. folder()
  /// is asked for the run's folder once all else is known to be good. Throws on bad input, before
  /// anything is overwritten.
  Training(const TrainFlags& flags, const SavedRun* saved,
           const std::function<char_lm::RunFolder()>& folder,
           shiftgrad::Peers& peers = shiftgrad::alone());

  /// Goes on where the run was whose last checkpoint the training began with; throws as
  /// TrainingRun::resume does.
  void resume(const SavedRun& saved) { run_.resume(saved.state, saved.source); }

  /// Throws unless all peers are about to begin the same training.
  void check_peers() const { trainer_.check_peers(); }

  void run(const std::function<bool()>& should_stop) { run_.run(should_stop); }

 private:
  char_lm::TrainingRun::Subject subject();
  void write(const std::string& path, const shiftgrad::RunState& state) const;

  TrainFlags flags_;
  std::shared_ptr<shiftgrad::ThreadLimit> threads_;
  Data data_;
  shiftgrad::EncoderDecoder model_;
  shiftgrad::PairTrainer trainer_;
  char_lm::TrainingRun run_;
};

}  // namespace seq2seq
