#pragma once

#include <functional>

#include "shiftgrad/core/tensor.h"
#include "shiftgrad/ops/visibility.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// e^x_j / Σ_k e^x_k along the last axis. PyTorch: softmax(x, -1).
Tensor softmax(const Tensor& x);

/// softmax over the visible keys of factor · scores for scores [B, H, T, K]. A hidden key gets
/// exactly 0 whatever its score, even a NaN; a query that sees no key gets 0 everywhere and passes
/// on no gradient. PyTorch: softmax(scores.masked_fill(hidden, -inf) * factor, -1), but for that
/// row.
Tensor masked_softmax(const Tensor& scores, const Visibility& visibility, Scalar factor);

/// Receives what a masked softmax gives, for whoever wants to see it.
using ProbabilityRecorder = std::function<void(const Tensor& probabilities)>;

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
