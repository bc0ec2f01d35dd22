#pragma once

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// target = beta · target + alpha · gradient, in the one place where gradients are un-broadcast:
/// along the axes on which the target has stride 0, the gradient is summed. An empty sink takes
/// nothing. The sums follow a tree fixed by the sizes alone. Throws when the shapes differ.
void accumulate(const GradientSink& sink, const Tensor& gradient, Scalar alpha = 1);

/// Lets `write(target, beta)` put a gradient into the sink: straight into it when the target is
/// contiguous, else by way of a temporary. `write` is not called for an empty sink.
template <class Write>
void deliver(const GradientSink& sink, Write write) {
  if (!sink) return;
  if (sink.target.is_contiguous()) return write(sink.target, sink.beta);
  Tensor gradient = Tensor::empty(sink.target.shape());
  write(gradient, Scalar{0});
  accumulate(sink, gradient);
}

/// The same sums for any two tensors of one shape: target = beta · target + alpha · source.
void accumulate(Scalar beta, const Tensor& target, const Tensor& source, Scalar alpha = 1);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
