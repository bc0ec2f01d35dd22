#pragma once

// The kernels that there are. Each has a file of its own.

#include <array>

#include "core/machine/kernel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace simd {
/// The kernel for numbers as they are, in the widest vectors that the CPU has.
extern const PanelKernel& (*const vector_kernel)();
/// The kernel for floats that are rounded to bfloat16 as they are packed, in such vectors too.
extern const PanelKernel& (*const rounding_kernel)();
/// Does the same by panels of half the size, whose numbers take two instructions more to read.
extern const PanelKernel& (*const compact_kernel)();
}  // namespace simd

/// The kernel for pairs of bfloat16 numbers in vectors of AVX512_BF16, or null where the CPU has
/// none, or none that are faster than those of floats.
const PanelKernel* bfloat16_kernel();

/// The kernel for such pairs in AMX's tiles, or null where the CPU has none or the system does not
/// let this process use them.
const PanelKernel* amx_kernel();

/// The kernels for pairs, the fastest first. Products that round take the first that is there.
inline constexpr std::array pair_kernels = {amx_kernel, bfloat16_kernel};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
