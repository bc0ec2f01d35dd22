#pragma once

// Softmax and its logarithm, and the softmax of scores of which some keys are hidden.

#include <functional>

#include "core/tensor.h"
#include "ops/visibility.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The softmax e^x_j / Σ_k e^x_k along the last axis. PyTorch: softmax(x, -1).
Tensor softmax(const Tensor& x);

/// log softmax(x) = x - log Σ_k e^x_k along `axis`, without overflow: -inf gives -inf, and a row of
/// nothing but -inf NaN. PyTorch: log_softmax.
Tensor log_softmax(const Tensor& x, int64_t axis = -1);

/// The softmax of factor · scores over the visible keys, for scores [B, H, T, K]. A hidden key gets
/// exactly 0 whatever its score, even a NaN; a query that sees no key gets 0 everywhere and passes
/// on no gradient. `sink` [H], if defined, is one more logit of each head, whose share nobody gets.
/// PyTorch: softmax(scores.masked_fill(hidden, -inf) * factor, -1), except where a
/// query sees no key.
Tensor masked_softmax(const Tensor& scores, const Visibility& visibility, Scalar factor,
                      const Tensor& sink = {});

/// Sets y_j = e^(x_j - greatest) / s, s = beside + Σ_k e^(x_k - greatest), for one row, given its
/// greatest x, and returns s. `x` may be `y`. It is for ops that make their rows themselves.
Scalar softmax_below(const Scalar* x, Scalar greatest, Scalar* y, int64_t length,
                     Scalar beside = 0);

/// A function that receives the probabilities of a masked softmax, for callers that want to see
/// them.
using ProbabilityRecorder = std::function<void(const Tensor& probabilities)>;

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
