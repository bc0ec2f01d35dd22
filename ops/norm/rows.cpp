// This file is compiled once for each instruction set: foreach_target.h includes it again and
// again.

// Highway's vectors of WebAssembly have no doubles; those that it makes of arrays have.
#ifdef __wasm__
#define HWY_COMPILE_ONLY_EMU128
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm/rows.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "ops/norm/rows.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using Doubles = hn::Vec<Wide>;
using Narrow = hn::Rebind<Scalar, Wide>;

HWY_INLINE Doubles constant(double value) { return hn::Set(Wide(), value); }

HWY_INLINE Doubles load(const double* from) { return hn::LoadU(Wide(), from); }
HWY_INLINE void store(Doubles v, double* to) { hn::StoreU(v, Wide(), to); }
#ifndef SHIFTGRAD_DOUBLE
HWY_INLINE Doubles load(const float* from) {
  return hn::PromoteTo(Wide(), hn::LoadU(Narrow(), from));
}
HWY_INLINE void store(Doubles v, float* to) { hn::StoreU(hn::DemoteTo(Narrow(), v), Narrow(), to); }
#endif

/// Access to as many elements as a vector holds.
struct Whole {
  template <class T>
  HWY_INLINE Doubles load(const T* from) const {
    return HWY_NAMESPACE::load(from);
  }
  template <class T>
  HWY_INLINE void store(Doubles v, T* to) const {
    HWY_NAMESPACE::store(v, to);
  }
  HWY_INLINE Doubles keep(Doubles v) const { return v; }
};

/// Access to the last elements, fewer than a vector holds; zeros stand in for the rest.
struct Part {
  int64_t count;

  template <class T>
  HWY_INLINE Doubles load(const T* from) const {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(double)] = {};
    std::copy(from, from + count, lanes);
    return HWY_NAMESPACE::load(lanes);
  }
  template <class T>
  HWY_INLINE void store(Doubles v, T* to) const {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(double)];
    HWY_NAMESPACE::store(v, lanes);
    std::copy(lanes, lanes + count, to);
  }
  /// Returns v for the elements that exist, 0 for the rest.
  HWY_INLINE Doubles keep(Doubles v) const {
    return hn::IfThenElseZero(hn::FirstN(Wide(), static_cast<size_t>(count)), v);
  }
};

/// Calls body(access, c) for the vectors that begin at element c of 0 … C-1.
template <class Body>
HWY_INLINE void for_vectors(int64_t C, Body body) {
  const auto step = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t c = 0;
  for (; c + step <= C; c += step) body(Whole{}, c);
  if (c < C) body(Part{C - c}, c);
}

HWY_INLINE double sum_of(Doubles v) { return hn::GetLane(hn::SumOfLanes(Wide(), v)); }

Moments moments(const Scalar* x, int64_t C) {
  Doubles sum = constant(0), squares = constant(0);
  for_vectors(C, [&](auto access, int64_t c) HWY_ATTR { sum = hn::Add(sum, access.load(x + c)); });
  const double mean = sum_of(sum) / static_cast<double>(C);
  for_vectors(C, [&](auto access, int64_t c) HWY_ATTR {
    const Doubles centered = access.keep(hn::Sub(access.load(x + c), constant(mean)));
    squares = hn::MulAdd(centered, centered, squares);
  });
  return {mean, sum_of(squares)};
}

void normalize(const NormedRow& row, const Scalar* x, const Scalar* weight, const Scalar* bias,
               Scalar* y, int64_t C) {
  const Doubles mean = constant(row.mean), rate = constant(row.rate);
  for_vectors(C, [&](auto access, int64_t c) HWY_ATTR {
    const Doubles normed = hn::Mul(rate, hn::Sub(access.load(x + c), mean));
    access.store(hn::MulAdd(access.load(weight + c), normed, access.load(bias + c)), y + c);
  });
}

void normalize_backward(const NormedRow& row, const Scalar* x, const Scalar* weight,
                        const Scalar* dy, Scalar beta, Scalar* dx, int64_t C) {
  const Doubles mean = constant(row.mean), rate = constant(row.rate);
  auto gradient = [&](auto access, int64_t c)
                      HWY_ATTR { return hn::Mul(access.load(weight + c), access.load(dy + c)); };
  auto centered = [&](auto access, int64_t c)
                      HWY_ATTR { return hn::Sub(access.load(x + c), mean); };
  Doubles sum = constant(0), along = constant(0);
  for_vectors(C, [&](auto access, int64_t c) HWY_ATTR {
    const Doubles g = gradient(access, c);
    sum = hn::Add(sum, g);
    along = hn::MulAdd(g, centered(access, c), along);
  });
  const Doubles mean_gradient = constant(sum_of(sum) / static_cast<double>(C));
  const Doubles slope = constant(row.slope * sum_of(along));
  for_vectors(C, [&](auto access, int64_t c) HWY_ATTR {
    const Doubles direct = hn::Mul(rate, hn::Sub(gradient(access, c), mean_gradient));
    Doubles total = hn::MulAdd(slope, centered(access, c), direct);
    if (beta != 0) total = hn::MulAdd(constant(beta), access.load(dx + c), total);
    access.store(total, dx + c);
  });
}

void add_parameter_gradients(const NormedRow& row, const Scalar* x, const Scalar* dy, double* dw,
                             double* db, int64_t C) {
  const Doubles mean = constant(row.mean), rate = constant(row.rate);
  for_vectors(C, [&](auto access, int64_t c) HWY_ATTR {
    const Doubles g = access.load(dy + c);
    const Doubles normed = hn::Mul(rate, hn::Sub(access.load(x + c), mean));
    access.store(hn::MulAdd(g, normed, access.load(dw + c)), dw + c);
    access.store(hn::Add(g, access.load(db + c)), db + c);
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION {

HWY_EXPORT(moments);
HWY_EXPORT(normalize);
HWY_EXPORT(normalize_backward);
HWY_EXPORT(add_parameter_gradients);

Moments moments(const Scalar* x, int64_t C) { return HWY_DYNAMIC_DISPATCH(moments)(x, C); }

void normalize(const NormedRow& row, const Scalar* x, const Scalar* weight, const Scalar* bias,
               Scalar* y, int64_t C) {
  HWY_DYNAMIC_DISPATCH(normalize)(row, x, weight, bias, y, C);
}

void normalize_backward(const NormedRow& row, const Scalar* x, const Scalar* weight,
                        const Scalar* dy, Scalar beta, Scalar* dx, int64_t C) {
  HWY_DYNAMIC_DISPATCH(normalize_backward)(row, x, weight, dy, beta, dx, C);
}

void add_parameter_gradients(const NormedRow& row, const Scalar* x, const Scalar* dy, double* dw,
                             double* db, int64_t C) {
  HWY_DYNAMIC_DISPATCH(add_parameter_gradients)(row, x, dy, dw, db, C);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#endif
