#pragma once

#include <cstdint>
#include <vector>

#include "examples/common/attention_map.h"
#include "shiftgrad/nn/models/language_model.h"

namespace char_lm {

using common::AttentionMap;

/// Returns the maps [T, T] of each layer's heads for a text with nothing before it, or no layers if
/// the model has no attention. An attention free transformer has equivalent weights for each
/// channel. Its map is their mean; in the conv form, where the channels of a head share weights,
/// each head has a map.
std::vector<std::vector<AttentionMap>> attention_maps(const shiftgrad::LanguageModel& model,
                                                      const std::vector<int32_t>& text);

}  // namespace char_lm
