#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shiftgrad/nn/models/language_model.h"

namespace char_lm {

/// -log p of the token at each position of the text, from exactly the `length` tokens before it,
/// which are fed by themselves. Each position is at least `length`.
std::vector<double> context_losses(const shiftgrad::LanguageModel& model,
                                   std::span<const int32_t> text,
                                   std::span<const int64_t> positions, int64_t length);

}  // namespace char_lm
