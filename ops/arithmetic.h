#pragma once

// Arithmetic of tensors, element by element. Two operands broadcast as in NumPy and PyTorch; the
// gradient of a broadcast operand is summed back to its shape.

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// a + b for shapes that broadcast; otherwise an error names both shapes. PyTorch: add.
Tensor add(const Tensor& a, const Tensor& b);
/// a - b for shapes that broadcast. PyTorch: sub.
Tensor subtract(const Tensor& a, const Tensor& b);
/// a · b for shapes that broadcast. PyTorch: mul.
Tensor multiply(const Tensor& a, const Tensor& b);
/// a / b for shapes that broadcast. PyTorch: div.
Tensor divide(const Tensor& a, const Tensor& b);

/// a + b, as `add`.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
/// a - b, as `subtract`.
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
/// a · b, as `multiply`.
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
/// a / b, as `divide`.
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }

/// factor · x.
Tensor scale(const Tensor& x, Scalar factor);
/// x + number.
Tensor add_scalar(const Tensor& x, Scalar number);

/// x + number, which stands for a tensor full of it.
inline Tensor operator+(const Tensor& x, Scalar number) { return add_scalar(x, number); }
inline Tensor operator+(Scalar number, const Tensor& x) { return add_scalar(x, number); }
/// x - number, or number - x.
inline Tensor operator-(const Tensor& x, Scalar number) { return add_scalar(x, -number); }
inline Tensor operator-(Scalar number, const Tensor& x) { return Tensor::full({}, number) - x; }
/// x · number.
inline Tensor operator*(const Tensor& x, Scalar number) { return scale(x, number); }
inline Tensor operator*(Scalar number, const Tensor& x) { return scale(x, number); }
/// x / number, or number / x.
inline Tensor operator/(const Tensor& x, Scalar number) { return x / Tensor::full({}, number); }
inline Tensor operator/(Scalar number, const Tensor& x) { return Tensor::full({}, number) / x; }

/// x += y is x = x + y for a tensor or number y: x becomes a handle on the result, which is
/// recorded as any other, and the values that x was a handle on stay as they are, for other handles
/// too. In PyTorch, x += y writes into these. A view in passing, as x[0] += y, does not compile.
Tensor& operator+=(Tensor& x, const auto& y) { return x = x + y; }
/// x -= y is x = x - y, as += is.
Tensor& operator-=(Tensor& x, const auto& y) { return x = x - y; }
/// x *= y is x = x · y, as += is.
Tensor& operator*=(Tensor& x, const auto& y) { return x = x * y; }
/// x /= y is x = x / y, as += is.
Tensor& operator/=(Tensor& x, const auto& y) { return x = x / y; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
