#pragma once

#include "core/machine/allocator.h"
#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Uninitialised Scalars, 64-byte aligned: what a kernel works in.
using Buffer = CachedArray<Scalar>;

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
