#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// One term of the score of a masked softmax, such as u·k_j; `scores` broadcasts to [B, H, T, K].
struct ScoreTerm {
  /// The name by which an editor finds it.
  std::string name{};
  /// The term's values.
  Tensor scores{};
};

/// A function that receives the terms of a score before they are summed, for callers that want to
/// see them, change them or leave some out.
using TermEditor = std::function<void(std::vector<ScoreTerm>& terms)>;

/// Returns the sum of the terms that the editor, if given, leaves, as scores of this shape.
Tensor sum_of_terms(std::vector<ScoreTerm> terms, const TermEditor& editor, const Dims& shape);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
