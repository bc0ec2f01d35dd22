#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nn/models/language_model.h"

namespace char_lm {

/// Returns -log p of the token at each position of the text, predicted from exactly the `length`
/// tokens before it. Each position is at least `length`. After each batch it
/// calls progress(done) with the number of tokens fed so far.
std::vector<double> context_losses(const shiftgrad::LanguageModel& model,
                                   std::span<const int32_t> text,
                                   std::span<const int64_t> positions, int64_t length,
                                   const std::function<void(int64_t done)>& progress = {});

/// The mean of losses, in bits.
struct MeanLoss {
  double bits = 0;
  /// Its standard error, as of independent losses; 0 of a single one.
  double error = 0;
};

/// Returns the mean of some losses in nats. Throws when it is not finite.
MeanLoss mean_loss(std::span<const double> nats);

}  // namespace char_lm
