#pragma once

// Sums, means and maxima over axes, and running sums.

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The sum over `axes` (negative ones count from the end), which disappear, or stay as size 1 with
/// `keepdim`. The order of the additions depends on the shape only. Throws when an axis is named
/// twice. PyTorch: x.sum(axes, keepdim), except that no axes are none here and all there.
Tensor sum(const Tensor& x, const Dims& axes, bool keepdim = false);
/// The sum of all elements, of shape [].
Tensor sum(const Tensor& x);

/// The mean over `axes`, which disappear, or stay as size 1 with `keepdim`; NaN over nothing.
/// PyTorch: x.mean(axes, keepdim).
Tensor mean(const Tensor& x, const Dims& axes, bool keepdim = false);
/// The mean of all elements, of shape [].
Tensor mean(const Tensor& x);

/// The maximum along one axis, which disappears, or stays as size 1 with `keepdim`. The gradient
/// goes to the first of equal maxima, and NaN counts as the greatest. PyTorch:
/// x.max(axis, keepdim).values. Throws when the axis is empty.
Tensor maximum(const Tensor& x, int64_t axis, bool keepdim = false);

/// The running sums y_n = x_0 + … + x_n along one axis, added up in double from the first on.
/// PyTorch: cumsum.
Tensor cumsum(const Tensor& x, int64_t axis);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
