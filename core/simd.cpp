// The loops are written once, for vectors of any width, and compiled once for each instruction set:
// foreach_target.h includes this file again and again. Which one runs is found out at run time.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/simd.cpp"
#include <hwy/foreach_target.h>
// Below foreach_target.h, as Highway wants it.
#include <cstring>

#include "core/errors.h"
#include "core/simd.h"
#include "core/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::inline SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

/// Access to as many elements as a vector has.
struct Whole {
  HWY_INLINE Vector load(const Scalar* from) const { return hn::LoadU(Lanes(), from); }
  HWY_INLINE void store(Vector v, Scalar* to) const { hn::StoreU(v, Lanes(), to); }
  /// v for the elements there are, `other` for the rest.
  HWY_INLINE Vector keep(Vector v, Vector /*other*/) const { return v; }
};

/// Access to the last, fewer elements of an array, and to no memory behind them. The arithmetic in
/// between is that of whole vectors, so that an element's bits do not depend on its place.
struct Part {
  int64_t count;

  HWY_INLINE Vector load(const Scalar* from) const {
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT) {
      HWY_ALIGN Scalar lanes[HWY_MAX_BYTES / sizeof(Scalar)] = {};
      std::memcpy(lanes, from, static_cast<size_t>(count) * sizeof(Scalar));
      return hn::Load(Lanes(), lanes);
    } else {
      return hn::MaskedLoad(mask(), Lanes(), from);
    }
  }
  HWY_INLINE void store(Vector v, Scalar* to) const {
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT) {
      HWY_ALIGN Scalar lanes[HWY_MAX_BYTES / sizeof(Scalar)];
      hn::Store(v, Lanes(), lanes);
      std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(Scalar));
    } else {
      hn::BlendedStore(v, mask(), Lanes(), to);
    }
  }
  HWY_INLINE Vector keep(Vector v, Vector other) const { return hn::IfThenElse(mask(), v, other); }

 private:
  HWY_INLINE hn::Mask<Lanes> mask() const {
    return hn::FirstN(Lanes(), static_cast<size_t>(count));
  }
};

HWY_INLINE int64_t lane_count() { return static_cast<int64_t>(hn::Lanes(Lanes())); }

/// Calls body(access, i) for the vectors that begin at element i of 0 … n-1.
template <class Body>
HWY_INLINE void for_vectors(int64_t n, Body body) {
  const int64_t step = lane_count();
  int64_t i = 0;
  for (; i + step <= n; i += step) body(Whole{}, i);
  if (i < n) body(Part{n - i}, i);
}

/// Joins body(access, i, running value) over all vectors; four running values at a time, so that
/// each addition need not wait for the one before.
template <class Body, class Join>
HWY_INLINE Vector fold(int64_t n, Vector start, Body body, Join join) {
  const int64_t step = lane_count();
  Vector a = start, b = start, c = start, d = start;
  int64_t i = 0;
  for (; i + 4 * step <= n; i += 4 * step) {
    a = body(Whole{}, i, a);
    b = body(Whole{}, i + step, b);
    c = body(Whole{}, i + 2 * step, c);
    d = body(Whole{}, i + 3 * step, d);
  }
  for (; i + step <= n; i += step) a = body(Whole{}, i, a);
  if (i < n) {
    Part rest{n - i};
    b = rest.keep(body(rest, i, b), b);
  }
  return join(join(a, b), join(c, d));
}

/// The same for a sum.
template <class Body>
HWY_INLINE Scalar add_up(int64_t n, Body body) {
  auto add = [](Vector a, Vector b) HWY_ATTR { return hn::Add(a, b); };
  return hn::GetLane(hn::SumOfLanes(Lanes(), fold(n, hn::Zero(Lanes()), body, add)));
}

// A function is a type with its value y = f(x), and the gradient dy f'(x), which may use y.

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

struct Erf {
  static HWY_INLINE Vector value(Vector x) { return erf(x); }
  static HWY_INLINE Vector gradient(Vector x, Vector, Vector dy) {
    constexpr Scalar two_over_sqrt_pi = Scalar(1.12837916709551257390);
    return hn::Mul(dy, hn::Mul(constant(two_over_sqrt_pi), exp(hn::Neg(hn::Mul(x, x)))));
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

struct Reciprocal {
  static HWY_INLINE Vector value(Vector x) { return hn::Div(constant(1), x); }
  static HWY_INLINE Vector gradient(Vector, Vector y, Vector dy) {
    return hn::Neg(hn::Mul(hn::Mul(dy, y), y));
  }
};

/// Calls body with the function that `f` names.
template <class Body>
HWY_INLINE void with_function(Unary f, Body body) {
  switch (f) {
    case Unary::negate:
      return body(Negate{});
    case Unary::exp:
      return body(Exp{});
    case Unary::log:
      return body(Log{});
    case Unary::sqrt:
      return body(Sqrt{});
    case Unary::tanh:
      return body(Tanh{});
    case Unary::sigmoid:
      return body(Sigmoid{});
    case Unary::erf:
      return body(Erf{});
    case Unary::relu:
      return body(Relu{});
    case Unary::gelu:
      return body(Gelu{});
    case Unary::gelu_tanh:
      return body(GeluTanh{});
    case Unary::square:
      return body(Square{});
    case Unary::reciprocal:
      return body(Reciprocal{});
  }
}

void map(Unary f, const Scalar* x, Scalar* y, int64_t n) {
  with_function(f, [&](auto function) HWY_ATTR {
    for_vectors(n, [&](auto access, int64_t i)
                       HWY_ATTR { access.store(function.value(access.load(x + i)), y + i); });
  });
}

void map_gradient(Unary f, const Scalar* x, const Scalar* y, const Scalar* dy, Scalar beta,
                  Scalar* dx, int64_t n) {
  with_function(f, [&](auto function) HWY_ATTR {
    auto gradient = [&](auto access, int64_t i) HWY_ATTR {
      return function.gradient(access.load(x + i), access.load(y + i), access.load(dy + i));
    };
    if (beta == 0) {
      for_vectors(
          n, [&](auto access, int64_t i) HWY_ATTR { access.store(gradient(access, i), dx + i); });
    } else {
      for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
        Vector old = access.load(dx + i);
        access.store(hn::MulAdd(constant(beta), old, gradient(access, i)), dx + i);
      });
    }
  });
}

/// y = function(a, b)
template <class Function>
HWY_INLINE void zip_with(const Scalar* a, const Scalar* b, Scalar* y, int64_t n,
                         Function function) {
  for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
    access.store(function(access.load(a + i), access.load(b + i)), y + i);
  });
}

void zip(Binary f, const Scalar* a, const Scalar* b, Scalar* y, int64_t n) {
  switch (f) {
    case Binary::add:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return hn::Add(p, q); });
    case Binary::subtract:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return hn::Sub(p, q); });
    case Binary::multiply:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return hn::Mul(p, q); });
    case Binary::divide:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return hn::Div(p, q); });
    case Binary::maximum:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return larger(p, q); });
  }
}

void axpby(Scalar alpha, const Scalar* x, Scalar beta, Scalar* y, int64_t n) {
  if (beta == 0) {
    for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
      access.store(hn::Mul(constant(alpha), access.load(x + i)), y + i);
    });
  } else {
    for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
      Vector old = hn::Mul(constant(beta), access.load(y + i));
      access.store(hn::MulAdd(constant(alpha), access.load(x + i), old), y + i);
    });
  }
}

void multiply_add(const Scalar* a, const Scalar* b, Scalar* y, int64_t n) {
  for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
    access.store(hn::MulAdd(access.load(a + i), access.load(b + i), access.load(y + i)), y + i);
  });
}

Scalar sum(const Scalar* x, int64_t n) {
  return add_up(n, [&](auto access, int64_t i, Vector total)
                       HWY_ATTR { return hn::Add(total, access.load(x + i)); });
}

Scalar dot(const Scalar* a, const Scalar* b, int64_t n) {
  return add_up(n, [&](auto access, int64_t i, Vector total) HWY_ATTR {
    return hn::MulAdd(access.load(a + i), access.load(b + i), total);
  });
}

Scalar exp_minus(const Scalar* x, Scalar shift, Scalar* y, int64_t n) {
  return add_up(n, [&](auto access, int64_t i, Vector total) HWY_ATTR {
    Vector value = exp(hn::Sub(access.load(x + i), constant(shift)));
    access.store(value, y + i);
    return hn::Add(total, value);
  });
}

Scalar maximum(const Scalar* x, int64_t n) {
  auto join = [](Vector a, Vector b) HWY_ATTR { return larger(a, b); };
  auto body = [&](auto access, int64_t i, Vector greatest)
                  HWY_ATTR { return larger(greatest, access.load(x + i)); };
  Vector greatest = fold(n, constant(x[0]), body, join);
  if (!hn::AllFalse(Lanes(), hn::IsNaN(greatest))) return std::numeric_limits<Scalar>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(Lanes(), greatest));
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::inline SHIFTGRAD_PRECISION::simd {

HWY_EXPORT(map);
HWY_EXPORT(map_gradient);
HWY_EXPORT(zip);
HWY_EXPORT(axpby);
HWY_EXPORT(multiply_add);
HWY_EXPORT(sum);
HWY_EXPORT(maximum);
HWY_EXPORT(dot);
HWY_EXPORT(exp_minus);

void map(Unary f, const Scalar* x, Scalar* y, int64_t n) { HWY_DYNAMIC_DISPATCH(map)(f, x, y, n); }

void map_gradient(Unary f, const Scalar* x, const Scalar* y, const Scalar* dy, Scalar beta,
                  Scalar* dx, int64_t n) {
  HWY_DYNAMIC_DISPATCH(map_gradient)(f, x, y, dy, beta, dx, n);
}

void zip(Binary f, const Scalar* a, const Scalar* b, Scalar* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(zip)(f, a, b, y, n);
}

void axpby(Scalar alpha, const Scalar* x, Scalar beta, Scalar* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(axpby)(alpha, x, beta, y, n);
}

void multiply_add(const Scalar* a, const Scalar* b, Scalar* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(multiply_add)(a, b, y, n);
}

Scalar sum(const Scalar* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(sum)(x, n); }

Scalar maximum(const Scalar* x, int64_t n) {
  require(n >= 1, "maximum: of ", n, " numbers: expected at least 1");
  return HWY_DYNAMIC_DISPATCH(maximum)(x, n);
}

Scalar dot(const Scalar* a, const Scalar* b, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(dot)(a, b, n);
}

Scalar exp_minus(const Scalar* x, Scalar shift, Scalar* y, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(exp_minus)(x, shift, y, n);
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (int64_t target : hwy::SupportedAndGeneratedTargets())
    names.push_back(hwy::TargetName(target));
  return names;
}

void use_instruction_set(const std::string& name) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets())
    if (name == hwy::TargetName(target)) return hwy::GetChosenTarget().Update(target);
  fail("use_instruction_set: \"", name, "\" is not one of this CPU's instruction_sets()");
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION::simd

#endif
