#pragma once

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The product a b for a [..., M, N] and b [..., N, P]; the axes before the last two broadcast.
/// Transposes are found from the strides and cost nothing. An element whose gradient is 0 passes
/// nothing on, whatever it was made from. Throws when the inner sizes differ.
/// PyTorch: matmul.
Tensor matmul(const Tensor& a, const Tensor& b);

/// x Wᵀ + bias for x [..., N], weight W [P, N] and a bias that broadcasts to [..., P], or none. As
/// in PyTorch, a gradient of 0 makes NaN of what is not finite in x or W.
/// PyTorch: functional.linear, whose bias is [P], and addmm.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
