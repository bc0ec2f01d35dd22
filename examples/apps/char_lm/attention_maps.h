#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "examples/apps/draw/attention_map.h"
#include "examples/apps/runs/observation.h"
#include "nn/models/language_model.h"
#include "nn/models/vocabulary.h"

namespace char_lm {

using apps::AttentionMap;

/// How the mixers of a model weigh keys.
struct Weighing {
  /// Number of heads that have weights of their own.
  int64_t heads = 1;
  /// Whether the channels of a head are weighed one by one, as in an attention free transformer.
  bool by_channel = false;
  /// What the sum of a score's terms is multiplied by.
  double factor = 1;
};

/// Returns how the first layer that has terms weighs keys.
Weighing weighing_of(const shiftgrad::LanguageModel& model);

/// Returns the maps [T, T] of each layer's heads for a text with nothing before it, or no layers if
/// the model has no attention. An attention free transformer has equivalent weights for each
/// channel. Its map is their mean; in the conv form, where the channels of a head share weights,
/// each head has a map.
std::vector<std::vector<AttentionMap>> attention_maps(const shiftgrad::LanguageModel& model,
                                                      const std::vector<int32_t>& text);

/// Returns the weights with which the last character of the text's beginning chooses among its
/// characters: a row for each head, called 0.1 in layer 0, or for the mean of each layer's heads
/// where there are many. There are none if the model has no attention.
std::optional<apps::TokenWeights> last_row_of_heads(const shiftgrad::LanguageModel& model,
                                                    const shiftgrad::KeptText& text,
                                                    const shiftgrad::Vocabulary& vocabulary);

/// Hides the keys after a query, which have a weight of 0, from what is drawn: they get no number.
void hide_later_keys(std::vector<std::vector<AttentionMap>>& layers, int64_t characters);

}  // namespace char_lm
