#pragma once

// Tensors from nothing, beside Tensor::full, zeros and from.

#include "core/random.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Draws each element from the normal distribution N(0, 1), in row-major order. PyTorch: randn.
Tensor randn(const Dims& shape, Random& random);

/// begin, begin + step, … up to, but without, `end`. Throws when `step` is 0 or leads away from
/// `end`. PyTorch: arange.
Tensor arange(double begin, double end, double step = 1);
/// 0, 1, … up to, but without, `end`.
inline Tensor arange(double end) { return arange(0, end); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
