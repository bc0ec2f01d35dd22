#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/models/language_model.h"

namespace char_lm {

/// What a mixer has learned about distances δ. Distances to future tokens are negative.
struct DistanceTable {
  std::string title;
  /// The first δ; the values of each head begin there.
  int64_t first = 0;
  /// Values for each head, or a single list that all heads share.
  std::vector<std::vector<double>> heads;
};

/// Returns the biases that the terms of the mixer add to a score, after the factor 1/√D, and the
/// norms of its embeddings, for inputs of C = d_model channels. AFT's biases are means over all
/// pairs of a distance. The result is empty if the mixer has no terms or learns nothing about
/// distances. A mixer that bounds its keys (Limits::keys) is read for all its distances, any other
/// for the first `distances`.
std::vector<DistanceTable> distance_tables(const shiftgrad::Layer& mixer, int64_t d_model,
                                           int64_t distances);

/// Returns the tables of each layer of a model, equally many for all, or nothing if no layer has
/// any.
std::vector<std::vector<DistanceTable>> distance_tables(const shiftgrad::LanguageModel& model,
                                                        int64_t distances);

/// Says why a model has no such tables.
std::string why_no_distances(const shiftgrad::LanguageModelConfig& config);

}  // namespace char_lm
