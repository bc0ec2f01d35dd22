// This file is compiled once for each instruction set: foreach_target.h includes it again and
// again.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/recurrent/cells.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include "core/machine/dispatch.h"
#include "core/machine/simd_functions-inl.h"
#include "ops/recurrent/cells.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace simd::HWY_NAMESPACE;

/// Some neighbouring units: a vector of each column.
template <class Access>
struct Units {
  Access access;
  int64_t C, c;

  HWY_INLINE Vector get(const Scalar* row, int64_t column) const {
    return access.load(row + column * C + c);
  }
  /// Stores vectors into the first columns, one into each.
  template <class... Vectors>
  HWY_INLINE void put(Scalar* row, Vectors... columns) const {
    int64_t column = 0;
    (access.store(columns, row + column++ * C + c), ...);
  }
};

/// Calls body(units) for all C units.
template <class Body>
HWY_INLINE void for_units(int64_t C, Body body) {
  for_vectors(C, [&](auto access, int64_t c) HWY_ATTR {
    body(Units<decltype(access)>{access, C, c});
  });
}

HWY_INLINE Vector sigmoid(Vector x) { return Sigmoid::value(x); }
HWY_INLINE Vector sigmoid_gradient(Vector gate, Vector d) {
  return Sigmoid::gradient(gate, gate, d);
}
HWY_INLINE Vector tanh_gradient(Vector gate, Vector d) { return Tanh::gradient(gate, gate, d); }

/// What the sums of a step are made of.
struct GateSums {
  const Scalar *p, *bias, *row;

  template <class Units>
  HWY_INLINE Vector u(const Units& units, int64_t gate) const {
    Vector product = units.get(row, gate);
    return bias ? hn::Add(product, units.get(bias, gate)) : product;
  }
  template <class Units>
  HWY_INLINE Vector sum(const Units& units, int64_t gate) const {
    return hn::Add(units.get(p, gate), u(units, gate));
  }
};

void rnn_forward(const GateSums& of, Scalar* row, int64_t C) {
  for_units(C, [&](auto units) HWY_ATTR { units.put(row, tanh(of.sum(units, 0))); });
}

void gru_forward(const GateSums& of, const Scalar* before, Scalar* row, int64_t C) {
  for_units(C, [&](auto units) HWY_ATTR {
    Vector h = before ? units.get(before, 0) : constant(0);
    Vector r = sigmoid(of.sum(units, 0)), z = sigmoid(of.sum(units, 1)), u_n = of.u(units, 2);
    Vector n = tanh(hn::MulAdd(r, u_n, units.get(of.p, 2)));
    units.put(row, r, z, n, u_n, hn::MulAdd(z, hn::Sub(h, n), n));
  });
}

void lstm_forward(const GateSums& of, const Scalar* before, Scalar* row, int64_t C) {
  for_units(C, [&](auto units) HWY_ATTR {
    Vector c = before ? units.get(before, 0) : constant(0);
    Vector i = sigmoid(of.sum(units, 0)), f = sigmoid(of.sum(units, 1));
    Vector g = tanh(of.sum(units, 2)), o = sigmoid(of.sum(units, 3));
    Vector after = hn::MulAdd(f, c, hn::Mul(i, g));
    units.put(row, i, f, g, o, after, hn::Mul(o, tanh(after)));
  });
}

void cell_forward(RecurrentCell cell, const Scalar* p, const Scalar* bias, const Scalar* before,
                  Scalar* row, int64_t C) {
  GateSums of{p, bias, row};
  if (cell == RecurrentCell::rnn) return rnn_forward(of, row, C);
  if (cell == RecurrentCell::gru) return gru_forward(of, before, row, C);
  lstm_forward(of, before, row, C);
}

/// Returns a part of a step's gradient, but 0 where nothing came to its unit, even if the step's
/// values are not finite.
HWY_INLINE Vector passed_on(Vector came, Vector part) {
  auto nothing = hn::And(hn::Eq(came, constant(0)), hn::IsNaN(part));
  return hn::IfThenZeroElse(nothing, part);
}

void rnn_backward(const Scalar* row, Scalar* dh, Scalar* d, int64_t C) {
  for_units(C, [&](auto units) HWY_ATTR {
    Vector dafter = units.get(dh, 0);
    units.put(d, passed_on(dafter, tanh_gradient(units.get(row, 0), dafter)));
    units.put(dh, constant(0));
  });
}

void gru_backward(const Scalar* row, const Scalar* before, Scalar* dh, Scalar* d, int64_t C) {
  for_units(C, [&](auto units) HWY_ATTR {
    Vector h = before ? units.get(before, 0) : constant(0);
    Vector r = units.get(row, 0), z = units.get(row, 1), n = units.get(row, 2);
    Vector u_n = units.get(row, 3), dafter = units.get(dh, 0);
    auto pass_on = [&](Vector part) HWY_ATTR { return passed_on(dafter, part); };
    Vector dn = tanh_gradient(n, hn::NegMulAdd(dafter, z, dafter));
    units.put(d, pass_on(sigmoid_gradient(r, hn::Mul(dn, u_n))),
              pass_on(sigmoid_gradient(z, hn::Mul(dafter, hn::Sub(h, n)))), pass_on(hn::Mul(dn, r)),
              pass_on(dn));
    units.put(dh, pass_on(hn::Mul(dafter, z)));
  });
}

void lstm_backward(const Scalar* row, const Scalar* before, Scalar* dh, Scalar* dc, Scalar* d,
                   int64_t C) {
  for_units(C, [&](auto units) HWY_ATTR {
    Vector c = before ? units.get(before, 0) : constant(0);
    Vector i = units.get(row, 0), f = units.get(row, 1), g = units.get(row, 2);
    Vector o = units.get(row, 3), t = tanh(units.get(row, 4)), dafter = units.get(dh, 0);
    // What nothing came to is left out before the products, which are added in one rounding.
    auto used = [&](Vector x)
                    HWY_ATTR { return hn::IfThenZeroElse(hn::Eq(dafter, constant(0)), x); };
    Vector along_h = tanh_gradient(used(t), hn::Mul(dafter, used(o)));
    Vector total = hn::Add(units.get(dc, 0), along_h);
    auto pass_on = [&](Vector part) HWY_ATTR { return passed_on(total, part); };
    units.put(d, pass_on(sigmoid_gradient(i, hn::Mul(total, g))),
              pass_on(sigmoid_gradient(f, hn::Mul(total, c))),
              pass_on(tanh_gradient(g, hn::Mul(total, i))),
              passed_on(dafter, sigmoid_gradient(o, hn::Mul(dafter, t))));
    units.put(dc, pass_on(hn::Mul(total, f)));
    units.put(dh, constant(0));
  });
}

void cell_backward(RecurrentCell cell, const Scalar* row, const Scalar* before, Scalar* dh,
                   Scalar* dc, Scalar* d, int64_t C) {
  if (cell == RecurrentCell::rnn) return rnn_backward(row, dh, d, C);
  if (cell == RecurrentCell::gru) return gru_backward(row, before, dh, d, C);
  lstm_backward(row, before, dh, dc, d, C);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION {

SHIFTGRAD_DISPATCH(cell_forward);
SHIFTGRAD_DISPATCH(cell_backward);

void add_projected_gradient(RecurrentCell cell, const Scalar* d, Scalar* dp, int64_t C) {
  bool gru = cell == RecurrentCell::gru;
  int64_t alike = gru ? 2 : columns(cell).gates;
  simd::axpby(1, d, 1, dp, alike * C);
  if (gru) simd::axpby(1, d + 3 * C, 1, dp + 2 * C, C);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#endif
