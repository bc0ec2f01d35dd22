// This file is compiled once for each instruction set: foreach_target.h includes it again and
// again.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shiftgrad/ops/aft/rows.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include "shiftgrad/core/machine/simd_loops-inl.h"
#include "shiftgrad/ops/aft/rows.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft_rows::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace simd::HWY_NAMESPACE;

bool terms(const Scalar* k, const Scalar* v, const Scalar* m, Scalar largest, Scalar* t, Scalar* tv,
           int64_t width) {
  Vector bound = constant(largest), worst = constant(0);
  for_vectors(width, [&](auto access, int64_t c) HWY_ATTR {
    Vector term = exp(hn::Sub(access.load(k + c), access.load(m + c)));
    Vector product = hn::Mul(term, access.load(v + c));
    access.store(term, t + c);
    access.store(product, tv + c);
    worst = larger(worst, access.keep(larger(term, hn::Abs(product)), worst));
  });
  return hn::AllTrue(Lanes(), hn::Le(worst, bound));
}

void add_term(const Scalar* k, const Scalar* v, const Scalar* m, Scalar* numerator,
              Scalar* denominator, int64_t width) {
  for_vectors(width, [&](auto access, int64_t c) HWY_ATTR {
    Vector term = exp(hn::Sub(access.load(k + c), access.load(m + c)));
    access.store(hn::MulAdd(term, access.load(v + c), access.load(numerator + c)), numerator + c);
    access.store(hn::Add(term, access.load(denominator + c)), denominator + c);
  });
}

bool quotient(const Scalar* numerator, const Scalar* denominator, Scalar smallest, Scalar* y,
              Scalar* inverse, int64_t width) {
  Vector bound = constant(smallest), least = bound;
  for_vectors(width, [&](auto access, int64_t c) HWY_ATTR {
    Vector below = access.load(denominator + c);
    access.store(hn::Div(access.load(numerator + c), below), y + c);
    access.store(hn::Div(constant(1), below), inverse + c);
    least = access.keep(hn::IfThenElse(hn::Lt(below, least), below, least), least);
  });
  return !hn::AllFalse(Lanes(), hn::Lt(least, bound));
}

void quotient_gradient(const Scalar* dy, const Scalar* y, const Scalar* inverse,
                       Scalar* ddenominator, Scalar* dnumerator, int64_t width) {
  for_vectors(width, [&](auto access, int64_t c) HWY_ATTR {
    Vector gradient = access.load(dy + c);
    auto silent = hn::Eq(gradient, hn::Zero(Lanes()));
    Vector above = hn::IfThenZeroElse(silent, hn::Mul(gradient, access.load(inverse + c)));
    Vector below = hn::IfThenZeroElse(silent, hn::Neg(hn::Mul(above, access.load(y + c))));
    access.store(above, dnumerator + c);
    access.store(below, ddenominator + c);
  });
}

void term_gradient(const Scalar* t, const Scalar* tv, const Scalar* ddenominator,
                   const Scalar* dnumerator, const RowSink& dk, const RowSink& dv, int64_t width) {
  for_vectors(width, [&](auto access, int64_t c) HWY_ATTR {
    auto add = [&](const RowSink& to, Vector gradient) HWY_ATTR {
      if (!to.target) return;
      Scalar* at = to.target + c;
      if (to.beta != 0) gradient = hn::MulAdd(constant(to.beta), access.load(at), gradient);
      access.store(gradient, at);
    };
    Vector term = access.load(t + c), above = access.load(dnumerator + c);
    Vector along = hn::Mul(term, access.load(ddenominator + c));
    add(dk, hn::MulAdd(access.load(tv + c), above, along));
    add(dv, hn::Mul(term, above));
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft_rows::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::aft_rows {

HWY_EXPORT(terms);
HWY_EXPORT(add_term);
HWY_EXPORT(quotient);
HWY_EXPORT(quotient_gradient);
HWY_EXPORT(term_gradient);

bool terms(const Scalar* k, const Scalar* v, const Scalar* m, Scalar largest, Scalar* t, Scalar* tv,
           int64_t width) {
  return HWY_DYNAMIC_DISPATCH(terms)(k, v, m, largest, t, tv, width);
}

void add_term(const Scalar* k, const Scalar* v, const Scalar* m, Scalar* numerator,
              Scalar* denominator, int64_t width) {
  HWY_DYNAMIC_DISPATCH(add_term)(k, v, m, numerator, denominator, width);
}

bool quotient(const Scalar* numerator, const Scalar* denominator, Scalar smallest, Scalar* y,
              Scalar* inverse, int64_t width) {
  return HWY_DYNAMIC_DISPATCH(quotient)(numerator, denominator, smallest, y, inverse, width);
}

void quotient_gradient(const Scalar* dy, const Scalar* y, const Scalar* inverse,
                       Scalar* ddenominator, Scalar* dnumerator, int64_t width) {
  HWY_DYNAMIC_DISPATCH(quotient_gradient)(dy, y, inverse, ddenominator, dnumerator, width);
}

void term_gradient(const Scalar* t, const Scalar* tv, const Scalar* ddenominator,
                   const Scalar* dnumerator, const RowSink& dk, const RowSink& dv, int64_t width) {
  HWY_DYNAMIC_DISPATCH(term_gradient)(t, tv, ddenominator, dnumerator, dk, dv, width);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft_rows

#endif
