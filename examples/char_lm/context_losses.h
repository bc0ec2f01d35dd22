#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shiftgrad/nn/models/language_model.h"

namespace char_lm {

/// Returns -log p of the token at each position of the text, predicted from exactly the `length`
/// tokens before it, which are fed alone. Each position is at least `length`.
std::vector<double> context_losses(const shiftgrad::LanguageModel& model,
                                   std::span<const int32_t> text,
                                   std::span<const int64_t> positions, int64_t length);

}  // namespace char_lm
