#pragma once

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Adds a gradient to one that is open: target = beta · target + alpha · gradient. Along the
/// axes on which the target has stride 0, where an operand was broadcast, the gradient is summed;
/// products sum those of their stacks themselves. An empty one takes nothing. The sums follow a
/// tree fixed by the sizes alone. Throws when the shapes differ.
void accumulate(const OpenGradient& to, const Tensor& gradient, Scalar alpha = 1);

/// Calls `write(target, beta)`, which puts a gradient into an open one: straight into it when the
/// target is contiguous, else by way of a temporary. Does not call `write` for an empty one.
template <class Write>
void write_gradient(const OpenGradient& to, Write write) {
  if (!to) return;
  if (to.target.is_contiguous()) return write(to.target, to.beta);
  Tensor gradient = Tensor::empty(to.target.shape());
  write(gradient, Scalar{0});
  accumulate(to, gradient);
}

/// Returns the target of an open gradient, set to 0 if nothing was written to it: for one that is
/// added in parts. It is undefined for an empty one.
Tensor zeroed_target(const OpenGradient& to);

/// Adds a tensor to another of the same shape: target = beta · target + alpha · source, with the
/// sums above.
void accumulate(Scalar beta, const Tensor& target, const Tensor& source, Scalar alpha = 1);

/// Copies a tensor into another of the same shape, as PyTorch's `target.copy_(source)`.
inline void copy_into(const Tensor& target, const Tensor& source) { accumulate(0, target, source); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
