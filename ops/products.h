#pragma once

// Products of matrices in tensors, of which nothing is recorded: what the forward and the backward
// passes of ops are made of.

#include "core/machine/matrix.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the last two axes of x as a matrix whose first element is at `data`.
template <class Element>
MatrixView<Element> matrix_of(Element* data, const Tensor& x) {
  const auto& [shape, strides, offset] = x.layout();
  return {data, shape[-2], shape[-1], strides[-2], strides[-1]};
}

/// Which factor of a product has weights, if one does: a weight of 0 gives nothing
/// (ops/zero_weights.h).
enum class WeightsIn { none, left, right };

/// Computes c = alpha a b + beta c for stacks of matrices a [..., M, N], b [..., N, P], c
/// [..., M, P] at any layouts. The stack axes must agree (expand them first); where those of c have
/// stride 0, the products are summed. Nothing is recorded: forward and backward passes are made of
/// this function. `operation` names the caller in an error about shapes.
void multiply_matrices(const char* operation, Scalar alpha, const Tensor& a, const Tensor& b,
                       Scalar beta, const Tensor& c, WeightsIn weights = WeightsIn::none);

/// Computes y = rows weightᵀ + added for rows [n, N], a weight [P, N], and n dense rows of y […,
/// P]. `added` has y's shape, or is undefined. The weight is packed once where PackedWeights keeps
/// it.
void multiply_by_transposed(const Tensor& rows, const Tensor& weight, const Tensor& added,
                            const Tensor& y);

/// Adds a b to an open gradient; an empty one takes nothing.
inline void write_product(const char* operation, const OpenGradient& to, const Tensor& a,
                          const Tensor& b, WeightsIn weights = WeightsIn::none) {
  if (to) multiply_matrices(operation, 1, a, b, to.beta, to.target, weights);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
