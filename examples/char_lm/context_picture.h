#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/common/picture.h"

namespace char_lm {

/// How a model's loss depends on the length of what it reads.
struct ContextCurve {
  std::string name;
  /// Length of the model's blocks in training.
  int64_t trained = 0;
  /// Bits per character for each of the picture's lengths, as far as the model can read.
  std::vector<double> bits;
};

/// Draws the curves over `lengths`. `xlabel` says what the lengths are.
void add_context_curves(common::Picture& picture, const std::vector<ContextCurve>& curves,
                        const std::vector<int64_t>& lengths, const std::string& xlabel);

}  // namespace char_lm
