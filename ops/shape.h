#pragma once

// Views of a tensor: the same elements under another shape or in another order. All but
// `contiguous` and a `reshape` that no layout can express share their input's storage and cost
// nothing, forward and backward.

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the elements in row-major order under another shape of the same number; one size may be
/// -1. Copies only where strides cannot express it. PyTorch: reshape.
Tensor reshape(const Tensor& x, const Dims& shape);

/// Puts the axes in the order `axes`. PyTorch: permute.
Tensor permute(const Tensor& x, const Dims& axes);

/// Exchanges two axes, by default the last two. PyTorch: transpose.
Tensor transpose(const Tensor& x, int64_t a = -2, int64_t b = -1);

/// Keeps indices begin … end-1 of one axis, every `step`-th. PyTorch: x[begin:end:step].
Tensor slice(const Tensor& x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1);

/// Keeps index `index` of one axis, which disappears; -1 is the last. PyTorch: select.
Tensor select(const Tensor& x, int64_t axis, int64_t index);

/// Reverses one axis, as a view like the others. PyTorch: flip, which copies.
Tensor flip(const Tensor& x, int64_t axis);

/// Broadcasts to a shape without a copy; the gradient is summed back. PyTorch: expand.
Tensor expand(const Tensor& x, const Dims& shape);

/// Inserts an axis of size 1 before `axis`. PyTorch: unsqueeze.
Tensor unsqueeze(const Tensor& x, int64_t axis);

/// Removes one axis of size 1; an axis of another size stays, as in PyTorch. PyTorch: squeeze.
Tensor squeeze(const Tensor& x, int64_t axis);

/// Returns the elements as a dense row-major tensor: x itself when it is one, else a copy.
Tensor contiguous(const Tensor& x);

/// Splits [B, T, n·D] into heads [B, n, T, D].
Tensor split_heads(const Tensor& x, int64_t heads);
/// Merges heads [B, n, T, D] into [B, T, n·D].
Tensor merge_heads(const Tensor& x);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
