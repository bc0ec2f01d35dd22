#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/common/picture.h"

namespace char_lm {

/// How a model's loss depends on the length of what it reads.
struct ContextCurve {
  std::string name;
  /// The length of its blocks in training.
  int64_t trained = 0;
  /// In bits per character, for the first of the picture's lengths; it ends where the model does.
  std::vector<double> bits;
};

/// Draws the curves over `lengths`, which `xlabel` says what they are of.
void add_context_curves(Picture& picture, const std::vector<ContextCurve>& curves,
                        const std::vector<int64_t>& lengths, const std::string& xlabel);

}  // namespace char_lm
