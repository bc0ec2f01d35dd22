#pragma once

// Other views of the same elements. All but `concat`, `contiguous` and a `reshape` that no layout
// can express share their input's storage and cost nothing, forward and backward.

#include <span>

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The elements in row-major order under another shape of as many; one size may be -1. A copy only
/// where strides cannot express it. PyTorch: reshape.
Tensor reshape(const Tensor& x, const Dims& shape);

/// The axes in the order `axes`. PyTorch: permute.
Tensor permute(const Tensor& x, const Dims& axes);

/// Two axes exchanged; by default the last two. PyTorch: transpose.
Tensor transpose(const Tensor& x, int a = -2, int b = -1);

/// Indices begin … end-1 of one axis, every `step`-th. PyTorch: x[begin:end:step].
Tensor slice(const Tensor& x, int axis, int64_t begin, int64_t end, int64_t step = 1);

/// Index `index` of one axis, which disappears. PyTorch: select.
Tensor select(const Tensor& x, int axis, int64_t index);

/// One axis from its end to its start, a view like the others. PyTorch: flip, which copies.
Tensor reverse(const Tensor& x, int axis);

/// Broadcast to a shape without a copy; the gradient is summed back. PyTorch: expand.
Tensor expand(const Tensor& x, const Dims& shape);

/// A new axis of size 1 before `axis`. PyTorch: unsqueeze.
Tensor unsqueeze(const Tensor& x, int axis);

/// The same elements as a dense row-major tensor: x itself when it is one, else a copy.
Tensor contiguous(const Tensor& x);

/// The tensors one after another along `axis`; the other sizes must agree. Undefined ones are
/// passed over, and one alone is returned as it is. PyTorch: cat.
Tensor concat(std::span<const Tensor> parts, int axis);
Tensor concat(std::initializer_list<Tensor> parts, int axis);

/// [B, T, n·D] as heads [B, n, T, D], and back.
Tensor split_heads(const Tensor& x, int64_t heads);
Tensor merge_heads(const Tensor& x);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
