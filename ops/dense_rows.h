#pragma once

#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Whether the elements of the last axis lie side by side, as vector loops and BLAS want it.
inline bool has_dense_rows(const Layout& layout) {
  return layout.shape[-1] == 1 || layout.strides[-1] == 1;
}

/// Returns x, or a copy where its rows are not dense, or an undefined tensor as it is.
inline Tensor with_dense_rows(const Tensor& x) {
  return !x.defined() || has_dense_rows(x.layout()) ? x : contiguous(x);
}

/// Returns x [B, T, X], or a copy where its rows are not dense, or repeated by a stride of 0.
inline Tensor with_own_rows(const Tensor& x) {
  const Layout& layout = x.layout();
  bool own = has_dense_rows(layout) && !layout.is_broadcast(0) && !layout.is_broadcast(1);
  return own ? x : contiguous(x);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
