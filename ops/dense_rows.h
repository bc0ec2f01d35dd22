#pragma once

#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// Whether the elements of the last axis lie side by side, as vector loops and BLAS want it.
inline bool has_dense_rows(const Layout& layout) {
  return layout.shape[-1] == 1 || layout.strides[-1] == 1;
}

/// x, or a copy where they do not; an undefined tensor as it is.
inline Tensor with_dense_rows(const Tensor& x) {
  return !x.defined() || has_dense_rows(x.layout()) ? x : contiguous(x);
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
