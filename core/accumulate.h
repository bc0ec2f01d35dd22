#pragma once

#include "core/tensor.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// target = beta · target + alpha · gradient, in the one place where gradients are un-broadcast:
/// along the axes on which the target has stride 0, the gradient is summed. An empty sink takes
/// nothing. The sums follow a tree fixed by the sizes alone. Throws when the shapes differ.
void accumulate(const GradientSink& sink, const Tensor& gradient, Scalar alpha = 1);

/// The same sums for any two tensors of one shape: target = beta · target + alpha · source.
void accumulate(Scalar beta, const Tensor& target, const Tensor& source, Scalar alpha = 1);

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
