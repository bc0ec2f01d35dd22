#pragma once

// Cross-entropy: the loss of tokens that were predicted by logits.

#include <optional>
#include <vector>

#include "core/array.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How cross_entropy reads its targets.
struct CrossEntropyOptions {
  /// ε, from 0 to 1: in a row's target distribution the target has 1 - ε + ε/V, every other token
  /// ε/V (Szegedy et al. 2016, section 7).
  double label_smoothing = 0;
  /// A target that fills up the shorter sequences of a batch. A row with this target counts for
  /// nothing, whatever is in it, and gets no gradient. The number may be outside 0 … V-1.
  std::optional<int32_t> ignored{};
};

/// The mean of -Σ_v t_v log softmax(logits)_v over all rows that are not ignored, in nats, of shape
/// []. t is the target distribution: one-hot without label smoothing. logits […, V], targets […].
/// Throws when the shapes do not fit, a target is not in 0 … V-1, or all are ignored. PyTorch:
/// functional.cross_entropy, with its label_smoothing and ignore_index.
Tensor cross_entropy(const Tensor& logits, const Tokens& targets,
                     const CrossEntropyOptions& options = {});

/// The loss of each row by itself, -log softmax(logits)[target], in nats and without a gradient:
/// for evaluation.
std::vector<double> token_losses(const Tensor& logits, const Tokens& targets);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
