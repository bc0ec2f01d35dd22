#pragma once

// Functions of pairs of elements, in the widest vectors that the CPU has.

#include "core/machine/simd.h"
#include "ops/pointwise.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns f(a, b) of each pair of elements, for operands of one shape. Nothing is recorded.
inline Tensor zipped(simd::Binary f, const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::empty(a.shape());
  elements::apply<2>({&a, &b}, y, [f](const auto& in, Scalar* out, int64_t length) {
    simd::zip(f, in[0], in[1], out, length);
  });
  return y;
}

/// Writes dy · other into the gradient of x; a dy of 0 passes nothing on.
inline void write_weighted(const Tensor& x, const Tensor& dy, const Tensor& other) {
  write_gradient(x.open_gradient(), [&](const Tensor& dx, Scalar beta) {
    elements::apply<2>({&dy, &other}, dx, [beta](const auto& in, Scalar* out, int64_t length) {
      beta == 0 ? simd::zip(simd::Binary::weigh, in[0], in[1], out, length)
                : simd::multiply_add(in[0], in[1], out, length);
    });
  });
}

/// The shape to which both operands of an op broadcast.
inline Dims shape_of_both(const char* operation, const Tensor& a, const Tensor& b) {
  require_defined(operation, "the left operand", a, "the right operand", b);
  return broadcast_shape(operation, a.shape(), b.shape());
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
