// The functions that simd::map can apply. A function is a type with its value y = f(x) and the
// gradient dy f'(x), which may use y.
//
// A kernel includes this once for each instruction set, so there is no guard.

#include "core/machine/simd.h"
#include "core/machine/simd_loops-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

struct Negate {
  static HWY_INLINE Vector value(Vector x) { return hn::Neg(x); }
  static HWY_INLINE Vector gradient(Vector, Vector, Vector dy) { return hn::Neg(dy); }
};

struct Exp {
  static HWY_INLINE Vector value(Vector x) { return exp(x); }
  static HWY_INLINE Vector gradient(Vector, Vector y, Vector dy) { return hn::Mul(dy, y); }
};

struct Log {
  static HWY_INLINE Vector value(Vector x) { return log(x); }
  static HWY_INLINE Vector gradient(Vector x, Vector, Vector dy) { return hn::Div(dy, x); }
};

struct Sqrt {
  static HWY_INLINE Vector value(Vector x) { return hn::Sqrt(x); }
  static HWY_INLINE Vector gradient(Vector, Vector y, Vector dy) {
    return hn::Div(dy, hn::Add(y, y));
  }
};

struct Tanh {
  static HWY_INLINE Vector value(Vector x) { return tanh(x); }
  static HWY_INLINE Vector gradient(Vector, Vector y, Vector dy) {
    return hn::Mul(dy, hn::NegMulAdd(y, y, constant(1)));
  }
};

struct Sigmoid {
  static HWY_INLINE Vector value(Vector x) { return sigmoid(x, decay(x)); }
  static HWY_INLINE Vector gradient(Vector, Vector y, Vector dy) {
    return hn::Mul(dy, hn::NegMulAdd(y, y, y));
  }
};

struct Relu {
  static HWY_INLINE Vector value(Vector x) { return gradient(x, x, x); }
  static HWY_INLINE Vector gradient(Vector x, Vector, Vector dy) {
    return hn::IfThenZeroElse(hn::Le(x, hn::Zero(Lanes())), dy);
  }
};

struct Gelu {
  static HWY_INLINE Vector value(Vector x) { return hn::Mul(x, normal_cdf(x, gaussian(x))); }
  static HWY_INLINE Vector gradient(Vector x, Vector, Vector dy) {
    constexpr Scalar one_over_sqrt_2pi = Scalar(0.398942280401432677940);
    Vector bell = gaussian(x);
    Vector density = hn::Mul(constant(one_over_sqrt_2pi), bell);
    return hn::Mul(dy, hn::MulAdd(x, density, normal_cdf(x, bell)));
  }
};

/// x/2 (1 + tanh u) = x σ(2u), which does not cancel where x is far below zero.
struct GeluTanh {
  static constexpr Scalar linear = Scalar(1.59576912160573071176);  // 2 √(2/π)
  static constexpr Scalar cubic = linear * Scalar(0.044715);

  /// 2u
  static HWY_INLINE Vector gate(Vector x) {
    return hn::Mul(x, hn::MulAdd(constant(cubic), hn::Mul(x, x), constant(linear)));
  }
  static HWY_INLINE Vector value(Vector x) { return hn::Mul(x, sigmoid(gate(x), decay(gate(x)))); }
  static HWY_INLINE Vector gradient(Vector x, Vector, Vector dy) {
    Vector gate_slope = hn::MulAdd(constant(3 * cubic), hn::Mul(x, x), constant(linear));
    Vector decay_of_gate = decay(gate(x));
    Vector bend = hn::Mul(hn::Mul(x, gate_slope), sigmoid_slope(decay_of_gate));
    // Far out the bend is 0, but its factors may overflow.
    bend = hn::IfThenElseZero(hn::Lt(hn::Abs(x), constant(100)), bend);
    return hn::Mul(dy, hn::Add(sigmoid(gate(x), decay_of_gate), bend));
  }
};

struct Square {
  static HWY_INLINE Vector value(Vector x) { return hn::Mul(x, x); }
  static HWY_INLINE Vector gradient(Vector x, Vector, Vector dy) {
    Vector half = hn::Mul(dy, x);
    return hn::Add(half, half);
  }
};

/// Calls body with that of the functions whose place in the list `f` has in Unary.
template <class... Functions, class Body>
HWY_INLINE void with_one_of(Unary f, Body body) {
  int place = 0;
  ((place++ == static_cast<int>(f) ? body(Functions()) : void()), ...);
}

/// Calls body with the function that `f` names.
template <class Body>
HWY_INLINE void with_function(Unary f, Body body) {
  with_one_of<Negate, Exp, Log, Sqrt, Tanh, Sigmoid, Relu, Gelu, GeluTanh, Square>(f, body);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
