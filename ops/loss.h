#pragma once

#include <vector>

#include "core/array.h"
#include "core/tensor.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// The mean over all tokens of -log softmax(logits)[target], in nats, of shape []. logits […, V],
/// targets […]. Throws when the shapes do not fit or a target is not in 0 … V-1. PyTorch:
/// functional.cross_entropy.
Tensor cross_entropy(const Tensor& logits, const Tokens& targets);

/// The same for each token by itself, in nats, without a gradient: for evaluation.
std::vector<double> token_losses(const Tensor& logits, const Tokens& targets);

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
