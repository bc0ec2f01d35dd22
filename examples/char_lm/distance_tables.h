#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shiftgrad/nn/layer.h"

namespace char_lm {

/// What a mixer has learned of distances δ, those of the future being negative.
struct DistanceTable {
  std::string title;
  /// The δ that the values of each head begin with.
  int64_t first = 0;
  /// One for each head, or one where all share it.
  std::vector<std::vector<double>> heads;
};

/// The biases that the mixer adds to a score, after its 1/√D, and the norms of its embeddings; none
/// where it learns nothing of distances. A table is read for all distances that it has, a formula
/// for the first `distances`.
std::vector<DistanceTable> distance_tables(const shiftgrad::Layer& mixer, int64_t distances);

}  // namespace char_lm
