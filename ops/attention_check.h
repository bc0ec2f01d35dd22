#pragma once

#include "ops/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Whether q [B, H, T, D], k [B, G, K, D] and v [B, G, K, E] are heads of one attention: G divides
/// H.
bool are_heads(const Tensor& q, const Tensor& k, const Tensor& v);

/// Throws when the shapes of attention's terms do not fit together, or its masks or its dropout do
/// not fit them.
void check_attention(const RelativeAttention& attention);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
