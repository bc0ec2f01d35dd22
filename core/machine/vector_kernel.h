#pragma once

#include "core/machine/packed_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The kernel for numbers that are not rounded, in the widest vectors that the CPU has.
const PanelKernel<Scalar>& vector_kernel();

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
