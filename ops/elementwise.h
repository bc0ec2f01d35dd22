#pragma once

// Functions of single elements, beside the arithmetic of two.

#include "shiftgrad/ops/arithmetic.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor negate(const Tensor& x);
inline Tensor operator-(const Tensor& x) { return negate(x); }

Tensor exp(const Tensor& x);
/// The natural logarithm; NaN below 0, -inf at 0.
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor tanh(const Tensor& x);
/// 1 / (1 + e^-x).
Tensor sigmoid(const Tensor& x);
/// max(x, 0); NaN stays NaN and the gradient at 0 is 0.
Tensor relu(const Tensor& x);
/// x Φ(x) with the normal distribution's Φ (Hendrycks and Gimpel 2016). PyTorch: gelu.
Tensor gelu(const Tensor& x);
/// The approximation of gelu by x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).
/// PyTorch: gelu(approximate="tanh").
Tensor gelu_tanh(const Tensor& x);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
