#pragma once

// Language models that learn a task.

#include <functional>
#include <memory>
#include <string>

#include "nn/models/language_model.h"
#include "tests/support/tasks.h"

namespace shiftgrad::test {

/// A model, and how sequences are fed to it: in segments, with so much memory carried along.
struct Learner {
  /// Of a language model, what is not the same for all.
  std::string json;
  int64_t n_head = 4;
  int64_t segment = unlimited, mem_len = 0;
  /// Makes a mixer that takes the place of the config's.
  std::function<std::unique_ptr<Layer>(int64_t d_model, Random& random)> mixer{};

  /// One block of 32 channels.
  LanguageModel make(const LearningTask& task, uint64_t seed) const;
};

/// A model trained on sequences drawn anew for each of the steps.
LanguageModel train(const Learner& learner, const LearningTask& task, int64_t steps,
                    uint64_t seed = 1);

/// The mean loss, over sequences that were not trained on, of the tokens that have an answer.
double loss(const LanguageModel& model, const Learner& learner, const LearningTask& task);

}  // namespace shiftgrad::test
