#pragma once

#include "ops/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Throws when the shapes of attention's terms do not fit together, or its masks or its dropout do
/// not fit them.
void check_attention(const RelativeAttention& attention);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
