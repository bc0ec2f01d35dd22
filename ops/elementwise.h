#pragma once

// Functions of single elements. Two operands broadcast as in NumPy and PyTorch; the gradient of a
// broadcast operand is summed back to its shape.

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// a + b, a - b, a · b, a / b for shapes that broadcast; otherwise an error names both shapes.
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor divide(const Tensor& a, const Tensor& b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }

/// Arithmetic with a number, which stands for a tensor full of it.
Tensor operator+(const Tensor& x, Scalar number);
Tensor operator+(Scalar number, const Tensor& x);
Tensor operator-(const Tensor& x, Scalar number);
Tensor operator-(Scalar number, const Tensor& x);
Tensor operator*(const Tensor& x, Scalar number);
Tensor operator*(Scalar number, const Tensor& x);
Tensor operator/(const Tensor& x, Scalar number);
Tensor operator/(Scalar number, const Tensor& x);
Tensor operator-(const Tensor& x);

/// factor · x.
Tensor scale(const Tensor& x, Scalar factor);
/// x + offset.
Tensor offset(const Tensor& x, Scalar offset);

Tensor negate(const Tensor& x);
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
