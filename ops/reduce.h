#pragma once

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The sum over `axes` (negative ones count from the end), which stay as size 1. PyTorch:
/// x.sum(axes, keepdim=True). The order of the additions depends on the shape only.
Tensor sum(const Tensor& x, const Dims& axes);
/// The sum of all elements, of shape [].
Tensor sum(const Tensor& x);

/// The mean over `axes`, which stay as size 1; NaN over nothing.
Tensor mean(const Tensor& x, const Dims& axes);
/// The mean of all elements, of shape [].
Tensor mean(const Tensor& x);

/// The maximum along one axis, which stays as size 1. The gradient goes to the first of equal
/// maxima, and NaN counts as the greatest. PyTorch: x.max(axis, keepdim=True).values. Throws when
/// the axis is empty.
Tensor maximum(const Tensor& x, int axis);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
