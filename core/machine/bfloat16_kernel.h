#pragma once

// The part of bfloat16 products that is written in the CPU's own instructions: packing operands
// into panels, and multiplying two panels into a tile of the result.
//
// A bfloat16 instruction multiplies pairs: each lane of a sum gets a₀ b₀ + a₁ b₁. So the elements
// of a panel are pairs of numbers that follow one another in depth.
//
// Another kind of unit, such as AMX, would have a file like this of its own.

#include <cstdint>

#include "core/machine/packed_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Two bfloat16 numbers, the first in the lower half.
using Bfloat16Pair = uint32_t;

/// The functions that round to pairs and multiply these.
using Bfloat16Kernel = PanelKernel<Bfloat16Pair>;

/// The kernel for this CPU, or null if it has no instructions for bfloat16.
const Bfloat16Kernel* bfloat16_kernel();

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
