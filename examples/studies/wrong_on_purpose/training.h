#pragma once

#include <optional>
#include <span>

#include "blanks.h"
#include "mistakes.h"

namespace wrong_on_purpose {

struct TrainingConfig {
  int64_t batch_size, block_size;
  Schedule schedule;
  uint64_t seed;
};

/// Trains a model of an exhibit's mixers: to predict the next token, or, in the two-way form, to
/// guess tokens left blank. All exhibits of a form train on the same batches.
class Training {
 public:
  /// `blank` is a token that is not in the text. The model and the text must outlive the training.
  Training(const LanguageModel& model, Form form, std::span<const int32_t> text,
           const TrainingConfig& config, int32_t blank);

  /// Makes one update, and returns the loss of its batch before it, in nats.
  double step();

  /// The number of updates so far.
  int64_t steps() const { return steps_; }

 private:
  const LanguageModel& model_;
  Schedule schedule_;
  RandomBlocks batches_;
  std::optional<Blanks> blanks_;
  Optimizer optimizer_;
  int64_t steps_ = 0;
};

}  // namespace wrong_on_purpose
