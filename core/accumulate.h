#pragma once

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Adds a gradient to a sink: target = beta · target + alpha · gradient. This is the one place
/// where gradients are un-broadcast: along the axes on which the target has stride 0, the gradient
/// is summed. An empty sink takes nothing. The sums follow a tree fixed by the sizes alone. Throws
/// when the shapes differ.
void accumulate(const GradientSink& sink, const Tensor& gradient, Scalar alpha = 1);

/// Calls `write(target, beta)`, which puts a gradient into the sink: straight into it when the
/// target is contiguous, else by way of a temporary. Does not call `write` for an empty sink.
template <class Write>
void deliver(const GradientSink& sink, Write write) {
  if (!sink) return;
  if (sink.target.is_contiguous()) return write(sink.target, sink.beta);
  Tensor gradient = Tensor::empty(sink.target.shape());
  write(gradient, Scalar{0});
  accumulate(sink, gradient);
}

/// Returns the target of a sink, set to 0 if nothing was written to it: for a gradient that is
/// added in parts. It is undefined for an empty sink.
Tensor cleared(const GradientSink& sink);

/// Adds a tensor to another of the same shape: target = beta · target + alpha · source, with the
/// sums above.
void accumulate(Scalar beta, const Tensor& target, const Tensor& source, Scalar alpha = 1);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
