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
#include "core/machine/dispatch.h"
#include "core/machine/simd_loops-inl.h"
#include "ops/norm/rows.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using simd::HWY_NAMESPACE::for_vectors;

using Wide = hn::ScalableTag<double>;
using Doubles = hn::Vec<Wide>;

HWY_INLINE Doubles constant(double value) { return hn::Set(Wide(), value); }

HWY_INLINE double sum_of(Doubles v) { return hn::GetLane(hn::SumOfLanes(Wide(), v)); }

RowMoments moments(const Scalar* x, int64_t C) {
  Doubles sum = constant(0), squares = constant(0);
  for_vectors<Wide>(
      C, [&](auto access, int64_t c) HWY_ATTR { sum = hn::Add(sum, access.load(x + c)); });
  const double mean = sum_of(sum) / static_cast<double>(C);
  for_vectors<Wide>(C, [&](auto access, int64_t c) HWY_ATTR {
    const Doubles centered = access.keep(hn::Sub(access.load(x + c), constant(mean)), constant(0));
    squares = hn::MulAdd(centered, centered, squares);
  });
  return {mean, sum_of(squares)};
}

void normalize(const NormedRow& row, const Scalar* x, const Scalar* weight, const Scalar* bias,
               Scalar* y, int64_t C) {
  const Doubles mean = constant(row.mean), rate = constant(row.rate);
  for_vectors<Wide>(C, [&](auto access, int64_t c) HWY_ATTR {
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
  for_vectors<Wide>(C, [&](auto access, int64_t c) HWY_ATTR {
    const Doubles g = gradient(access, c);
    sum = hn::Add(sum, g);
    along = hn::MulAdd(g, centered(access, c), along);
  });
  const Doubles mean_gradient =
      constant(row.centered ? sum_of(sum) / static_cast<double>(C) : 0);
  const Doubles slope = constant(row.slope * sum_of(along));
  for_vectors<Wide>(C, [&](auto access, int64_t c) HWY_ATTR {
    const Doubles direct = hn::Mul(rate, hn::Sub(gradient(access, c), mean_gradient));
    Doubles total = hn::MulAdd(slope, centered(access, c), direct);
    if (beta != 0) total = hn::MulAdd(constant(beta), access.load(dx + c), total);
    access.store(total, dx + c);
  });
}

void add_parameter_gradients(const NormedRow& row, const Scalar* x, const Scalar* dy, double* dw,
                             double* db, int64_t C) {
  const Doubles mean = constant(row.mean), rate = constant(row.rate);
  for_vectors<Wide>(C, [&](auto access, int64_t c) HWY_ATTR {
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

SHIFTGRAD_DISPATCH(moments);
SHIFTGRAD_DISPATCH(normalize);
SHIFTGRAD_DISPATCH(normalize_backward);
SHIFTGRAD_DISPATCH(add_parameter_gradients);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#endif
