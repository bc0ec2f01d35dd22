#pragma once

// Elements chosen along one axis. Here NaN counts as greater than all numbers, and of equals the
// first comes first.

#include "core/array.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// y[…, n, …] = x[…, indices[…, n, …], …] along `axis`. `indices` has the axes of x and the shape
/// of y; its other sizes may be smaller than those of x. The gradients of an element that is taken
/// several times add up, in the order of the indices. Throws when an index is not in 0 … size-1, or
/// the shapes do not fit. PyTorch: gather.
Tensor gather(const Tensor& x, int64_t axis, const Tokens& indices);

/// The index of the greatest element along one axis, which disappears, or stays as size 1 with
/// `keepdim`. Throws when the axis is empty. PyTorch: argmax.
Tokens argmax(const Tensor& x, int64_t axis, bool keepdim = false);

/// The k greatest elements along an axis, and where they were.
struct TopK {
  /// The elements.
  Tensor values{};
  /// Their indices along the axis.
  Tokens indices{};
};

/// Returns the k greatest elements along `axis`, the greatest first; their gradients go where they
/// were. Throws unless 0 ≤ k ≤ size. PyTorch: topk, which may order equals in any way.
TopK topk(const Tensor& x, int64_t k, int64_t axis = -1);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
