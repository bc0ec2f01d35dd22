#pragma once

// Functions of single elements, beside the arithmetic of two.

#include "core/array.h"
#include "ops/arithmetic.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// -x. PyTorch: neg.
Tensor negate(const Tensor& x);
/// -x, as `negate`.
inline Tensor operator-(const Tensor& x) { return negate(x); }

/// e^x. PyTorch: exp.
Tensor exp(const Tensor& x);
/// The natural logarithm; NaN below 0, -inf at 0.
Tensor log(const Tensor& x);
/// √x; NaN below 0. PyTorch: sqrt.
Tensor sqrt(const Tensor& x);
/// x². PyTorch: square.
Tensor square(const Tensor& x);
/// The hyperbolic tangent. PyTorch: tanh.
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
/// x σ(x). PyTorch: silu.
Tensor silu(const Tensor& x);
/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which neither overflows nor loses the digits of a
/// small result. PyTorch: functional.softplus, which takes x itself above 20.
Tensor softplus(const Tensor& x);
/// log σ(x) = -softplus(-x). PyTorch: functional.logsigmoid.
Tensor log_sigmoid(const Tensor& x);

/// |x|; the gradient at 0, and of a NaN, is 0. PyTorch: abs.
Tensor abs(const Tensor& x);
/// The sine and the cosine of x in radians; NaN where x is infinite.
Tensor sin(const Tensor& x);
/// The cosine of x in radians; NaN where x is infinite. PyTorch: cos.
Tensor cos(const Tensor& x);
/// x^exponent as std::pow has it: 1 for an exponent of 0, whatever x is, infinite where 0 is raised
/// to one below 0, NaN where x < 0 is raised to one that is not whole. The gradient is
/// exponent · x^(exponent - 1), and 0 for an exponent of 0. PyTorch: pow.
Tensor pow(const Tensor& x, Scalar exponent);
/// min(max(x, least), greatest); one of the two may be infinite. NaN stays NaN, and `greatest` wins
/// where it is below `least`. The gradient passes where least ≤ x ≤ greatest, bounds included, and
/// is 0 elsewhere. Throws when a bound is NaN. PyTorch: clamp.
Tensor clamp(const Tensor& x, Scalar least, Scalar greatest);

/// Takes each element of `a` where `condition` is not 0, and of `b` elsewhere; all three broadcast.
/// What is not taken, even a NaN, changes nothing, and its gradient is 0. PyTorch: where.
Tensor where(const Mask& condition, const Tensor& a, const Tensor& b);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
