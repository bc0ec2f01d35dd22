#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shiftgrad/nn/models/language_model.h"

namespace char_lm {

/// How much each token of a text looks at each other.
struct AttentionMap {
  std::string title;
  /// Row t has the weights of token t's keys, which add up to 1: [T, T].
  std::vector<double> weights;
};

/// The maps of each layer's heads over a text that nothing stands before; no layers where the model
/// has no attention. An attention free transformer's equivalent weights are those of channels: the
/// map is their mean, and in its conv form, where the channels of a head share theirs, the head's.
std::vector<std::vector<AttentionMap>> attention_maps(const shiftgrad::LanguageModel& model,
                                                      const std::vector<int32_t>& text);

}  // namespace char_lm
