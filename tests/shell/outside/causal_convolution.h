#pragma once

// A new op: the causal depthwise convolution, with s taps a channel.
//
//     y_t = Σ_n w_n ⊙ x_{t-n},   n = 0 … s-1,   x = 0 before the start

#include <shiftgrad/shiftgrad.h>

namespace outside {

/// x [B, T, C] and kernel [s, C], whose row n is for the token n steps back: [B, T, C]. Throws when
/// the shapes are others. PyTorch: conv1d with groups=C and padding on the left.
shiftgrad::Tensor causal_convolution(const shiftgrad::Tensor& x, const shiftgrad::Tensor& kernel);

}  // namespace outside
