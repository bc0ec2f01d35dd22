#pragma once

#include "core/array.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Looks up row tokens[…] of `weight` [V, C] for each token: […, C]. Throws when a token is not in
/// 0 … V-1. PyTorch: functional.embedding.
Tensor embedding(const Tensor& weight, const Tokens& tokens);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
