#pragma once

#include "optim/shiftgrad.h"

namespace wrong_on_purpose {

using namespace shiftgrad;

/// Losses in nats of the same tokens: fed in one pass, as in training, and in order, as a model
/// writes.
struct Losses {
  double in_one_pass, in_order;
};

/// Scores what follows the first `prompt` tokens of each row. In order, the prompt is fed at once,
/// and the rest token by token.
Losses score(const LanguageModel& model, const Batch& batch, int64_t prompt);

}  // namespace wrong_on_purpose
