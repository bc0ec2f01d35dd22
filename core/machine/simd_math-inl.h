// Elementary functions of one vector. Highway's contrib/math is fast and accurate to a few units in
// the last place, but only within a range, and Min and Max may drop a NaN. So values outside the
// range are clamped before and put right after. The error function is our own:
//
//   erfc(x) = e^(-x²) / (1 + 2x) Q((x - k) / (x + k))   for x ≥ 0
//
// (Shepherd and Laframboise 1981, "Chebyshev approximation of (1 + 2x) exp(x²) erfc x"). Q is a
// truncated Chebyshev series, computed with 50 digits and written out in powers; what it leaves
// out is less than the rounding errors.
//
// A kernel includes this once for each instruction set, so there is no guard.

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstddef>
#include <limits>

#include "core/scalar.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::ScalableTag<Scalar>;
using Vector = hn::Vec<Lanes>;

HWY_INLINE Vector constant(Scalar value) { return hn::Set(Lanes(), value); }

/// Returns y, but NaN where x is NaN.
HWY_INLINE Vector carry_nan(Vector x, Vector y) { return hn::IfThenElse(hn::IsNaN(x), x, y); }

HWY_INLINE Vector clamp(Vector x, Scalar low, Scalar high) {
  return hn::Max(hn::Min(x, constant(high)), constant(low));
}

/// Σ c_i x^i
template <size_t N>
HWY_INLINE Vector polynomial(Vector x, const Scalar (&coefficients)[N]) {
  Vector value = constant(coefficients[N - 1]);
  for (size_t i = N - 1; i-- > 0;) value = hn::MulAdd(value, x, constant(coefficients[i]));
  return value;
}

/// The larger of both, or NaN if either is NaN.
HWY_INLINE Vector larger(Vector a, Vector b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}

HWY_INLINE Vector exp(Vector x) {
  // Beyond these all results are 0 or infinite.
  constexpr bool is_float = sizeof(Scalar) == sizeof(float);
  constexpr Scalar lowest = is_float ? -104 : -746, highest = is_float ? 89 : 710;
  return carry_nan(x, hn::Exp(Lanes(), clamp(x, lowest, highest)));
}

#ifdef SHIFTGRAD_DOUBLE
/// e^x for x ≤ 0.
HWY_INLINE Vector exp_below_zero(Vector x) { return exp(x); }
#else
/// 2^scale e^x for x ≤ 0; NaN stays NaN. With x = n ln 2 + r, a polynomial in r, the best of its
/// degree (Remez), is multiplied by 2^(n + scale). What would be less than the least normal number
/// is 0.
template <int scale = 0>
HWY_INLINE Vector exp_below_zero(Vector x) {
  constexpr Scalar log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  constexpr Scalar lowest = -87.33f - scale * 0.6931472f;
  constexpr Scalar coefficients[] = {1,
                                     1,
                                     4.9999994040e-1f,
                                     1.6666521132e-1f,
                                     4.1668388993e-2f,
                                     8.3687352017e-3f,
                                     1.3814552221e-3f};
  // Added to a number, 1.5 · 2^23 leaves its integer in the lowest bits, here as an exponent.
  const Vector integer = constant(12582912.0f + 127 + scale);
  const Vector shifted = hn::MulAdd(x, constant(log2_e), integer);
  const Vector n = hn::Sub(shifted, integer);
  const Vector r = hn::NegMulAdd(n, constant(ln2_low), hn::NegMulAdd(n, constant(ln2_high), x));
  const hn::RebindToSigned<Lanes> bits;
  const Vector power = hn::BitCast(Lanes(), hn::ShiftLeft<23>(hn::BitCast(bits, shifted)));
  const Vector value = hn::Mul(polynomial(r, coefficients), power);
  return hn::IfThenZeroElse(hn::Lt(x, constant(lowest)), value);
}
#endif

HWY_INLINE Vector log(Vector x) {
  Vector zero = hn::Zero(Lanes());
  Vector infinity = constant(std::numeric_limits<Scalar>::infinity());
  Vector nan = constant(std::numeric_limits<Scalar>::quiet_NaN());
  Vector y = hn::Log(Lanes(), x);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Ge(x, zero), y, nan);
}

HWY_INLINE Vector tanh(Vector x) {
  // Beyond these all results are 1 or -1.
  return carry_nan(x, hn::Tanh(Lanes(), clamp(x, -20, 20)));
}

/// e^-|x|, which cannot overflow.
HWY_INLINE Vector decay(Vector x) {
  const Vector exponent = hn::Neg(hn::Abs(x));
#ifdef SHIFTGRAD_DOUBLE
  return exp(exponent);
#else
  // A scale keeps what is below the least normal number until the last step.
  return hn::Mul(exp_below_zero<64>(exponent), constant(0x1p-64f));
#endif
}

/// 1 / (1 + e^-x), given decay(x); it is accurate also where the result is small.
HWY_INLINE Vector sigmoid(Vector x, Vector decay_of_x) {
  Vector upper = hn::Div(constant(1), hn::Add(constant(1), decay_of_x));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(Lanes())), hn::Mul(decay_of_x, upper), upper);
}

/// The derivative of the sigmoid, σ(x) σ(-x), given decay(x).
HWY_INLINE Vector sigmoid_slope(Vector decay_of_x) {
  Vector upper = hn::Div(constant(1), hn::Add(constant(1), decay_of_x));
  return hn::Mul(hn::Mul(decay_of_x, upper), upper);
}

#ifdef SHIFTGRAD_DOUBLE
constexpr Scalar erfc_center = 3.75;
constexpr Scalar erfc_coefficients[] = {
    1.2375126308378275,      -0.14024059858554525,   0.0035854154854790257,
    0.08227673848999506,     -0.10880393014244462,   0.09230432116428125,
    -0.05869339857664934,    0.02836227737211114,    -0.009746579683265262,
    0.0017556261651970652,   0.000293714378044958,   -0.00029015535246077655,
    5.164652974177416e-05,   2.2387565714911816e-05, -1.1438048033346894e-05,
    -9.792625707303523e-07,  1.7419821586224816e-06, -5.084465378687302e-08,
    -2.4857126248016745e-07, 1.879082322370048e-08,  3.197926671666804e-08,
    -1.9551358868985616e-09, -2.623107347133476e-09};
#else
constexpr Scalar erfc_center = 2;
constexpr Scalar erfc_coefficients[] = {
    1.2769783735275269f,     -0.09276404231786728f,  -0.16603130102157593f, 0.16405649483203888f,
    -0.05420483276247978f,   -0.00806526280939579f,  0.008630633354187012f, 0.0013210412580519915f,
    -0.0012257547350600362f, -0.0004010871343780309f};
#endif

/// e^(-x²/2)
HWY_INLINE Vector gaussian(Vector x) {
  return decay(hn::Mul(constant(Scalar(0.5)), hn::Mul(x, x)));
}

/// Φ(-x) = erfc(x/√2) / 2 for x ≥ 0, given gaussian(x). Both quotients share a division.
HWY_INLINE Vector normal_tail(Vector x, Vector gaussian_of_x) {
  constexpr Scalar sqrt2 = Scalar(1.41421356237309504880);
  // The Gaussian is 0 from here on; infinity would turn the quotients into NaN.
  x = hn::Min(x, constant(40));
  Vector center = constant(sqrt2 * erfc_center), beyond = hn::Add(x, center);
  Vector growth = hn::MulAdd(constant(2 * sqrt2), x, constant(2));
  Vector inverse = hn::Div(constant(1), hn::Mul(beyond, growth));
  Vector place = hn::Mul(hn::Mul(hn::Sub(x, center), growth), inverse);
  Vector q = polynomial(place, erfc_coefficients);
  return hn::Mul(gaussian_of_x, hn::Mul(q, hn::Mul(beyond, inverse)));
}

/// Φ(x), the probability that a normal variable is less than x, given gaussian(x).
HWY_INLINE Vector normal_cdf(Vector x, Vector gaussian_of_x) {
  Vector tail = normal_tail(hn::Abs(x), gaussian_of_x);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(Lanes())), tail, hn::Sub(constant(1), tail));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
