#pragma once

#include <optional>
#include <vector>

#include "shiftgrad/core/array.h"
#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct CrossEntropyOptions {
  /// ε, 0 to 1: of a row's target distribution the target has 1 - ε + ε/V, every other token ε/V
  /// (Szegedy et al. 2016, section 7).
  double label_smoothing = 0;
  /// A row with this target counts for nothing, whatever is in it, and gets no gradient: what
  /// shorter sequences of a batch are filled up with. It may be outside 0 … V-1.
  std::optional<int32_t> ignored{};
};

/// The mean over all rows that are not ignored of -Σ_v t_v log softmax(logits)_v, in nats, of shape
/// []. t is the target distribution: one-hot without label smoothing. logits […, V], targets […].
/// Throws when the shapes do not fit, a target is not in 0 … V-1, or all are ignored. PyTorch:
/// functional.cross_entropy, with its label_smoothing and ignore_index.
Tensor cross_entropy(const Tensor& logits, const Tokens& targets,
                     const CrossEntropyOptions& options = {});

/// -log softmax(logits)[target] of each row by itself, in nats, without a gradient: for evaluation.
std::vector<double> token_losses(const Tensor& logits, const Tokens& targets);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
