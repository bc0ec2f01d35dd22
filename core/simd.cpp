// The loops are written once, for vectors of any width, and compiled once for each instruction set:
// foreach_target.h includes this file again and again. Which one runs is found out at run time.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/simd.cpp"
#include <hwy/foreach_target.h>
// Below foreach_target.h, as Highway wants it.
#include <limits>

#include "core/errors.h"
#include "core/simd.h"
#include "core/simd_functions-inl.h"
#include "core/simd_loops-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::inline SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

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

/// Four rows at a time, so that x is loaded once for them and no addition waits for the one before.
void dots(Scalar alpha, const Scalar* a, int64_t rows, int64_t stride, const Scalar* x, int64_t n,
          Scalar beta, Scalar* y) {
  auto put = [=](Scalar total, Scalar& to) { to = alpha * total + (beta == 0 ? 0 : beta * to); };
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const Scalar* first = a + row * stride;
    Vector totals[4] = {hn::Zero(Lanes()), hn::Zero(Lanes()), hn::Zero(Lanes()), hn::Zero(Lanes())};
    for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
      Vector shared = access.load(x + i);
      for (int64_t r = 0; r < 4; ++r)
        totals[r] = hn::MulAdd(access.load(first + r * stride + i), shared, totals[r]);
    });
    for (int64_t r = 0; r < 4; ++r)
      put(hn::GetLane(hn::SumOfLanes(Lanes(), totals[r])), y[row + r]);
  }
  for (; row < rows; ++row) put(dot(a + row * stride, x, n), y[row]);
}

Scalar exp_minus(const Scalar* x, Scalar shift, Scalar* y, int64_t n) {
  return add_up(n, [&](auto access, int64_t i, Vector total) HWY_ATTR {
    Vector value = exp(hn::Sub(access.load(x + i), constant(shift)));
    access.store(value, y + i);
    return hn::Add(total, value);
  });
}

void softmax_gradient(const Scalar* p, const Scalar* dp, Scalar factor, Scalar beta, Scalar* dx,
                      int64_t n) {
  auto where_seen = [&](Vector seen, Vector v)
                        HWY_ATTR { return hn::IfThenZeroElse(hn::Eq(seen, hn::Zero(Lanes())), v); };
  Vector mean = constant(add_up(n, [&](auto access, int64_t i, Vector total) HWY_ATTR {
    Vector seen = access.load(p + i);
    return hn::Add(total, where_seen(seen, hn::Mul(seen, access.load(dp + i))));
  }));
  for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
    Vector seen = access.load(p + i);
    Vector scaled = hn::Mul(constant(factor), seen);
    Vector slope = where_seen(seen, hn::Mul(scaled, hn::Sub(access.load(dp + i), mean)));
    if (beta != 0) slope = hn::MulAdd(constant(beta), access.load(dx + i), slope);
    access.store(slope, dx + i);
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
HWY_EXPORT(dots);
HWY_EXPORT(exp_minus);
HWY_EXPORT(softmax_gradient);

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

void dots(Scalar alpha, const Scalar* a, int64_t rows, int64_t stride, const Scalar* x, int64_t n,
          Scalar beta, Scalar* y) {
  HWY_DYNAMIC_DISPATCH(dots)(alpha, a, rows, stride, x, n, beta, y);
}

Scalar exp_minus(const Scalar* x, Scalar shift, Scalar* y, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(exp_minus)(x, shift, y, n);
}

void softmax_gradient(const Scalar* p, const Scalar* dp, Scalar factor, Scalar beta, Scalar* dx,
                      int64_t n) {
  HWY_DYNAMIC_DISPATCH(softmax_gradient)(p, dp, factor, beta, dx, n);
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
