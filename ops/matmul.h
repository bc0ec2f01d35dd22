#pragma once

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Computes c = alpha a b + beta c for stacks of matrices a [..., M, N], b [..., N, P], c
/// [..., M, P] at any layouts. The stack axes must agree (expand them first); where those of c have
/// stride 0, the products are summed. Nothing is recorded: forward and backward passes are made of
/// this function. `operation` names the caller in an error about shapes.
void multiply_matrices(const char* operation, Scalar alpha, const Tensor& a, const Tensor& b,
                       Scalar beta, const Tensor& c);

/// The product a b for a [..., M, N] and b [..., N, P]; the axes before the last two broadcast.
/// Transposes are found from the strides and cost nothing. Throws when the inner sizes differ.
/// PyTorch: matmul.
Tensor matmul(const Tensor& a, const Tensor& b);

/// x Wᵀ + bias for x [..., N], weight W [P, N] and a bias that broadcasts to [..., P], or none.
/// PyTorch: functional.linear, whose bias is [P], and addmm.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
