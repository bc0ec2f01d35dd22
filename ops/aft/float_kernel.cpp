// The kernel of `kernel.h` whose sums are floats, compiled once for each instruction set:
// foreach_target.h includes this file again and again. Products of doubles never round, so the
// library of doubles has none.

#ifdef SHIFTGRAD_DOUBLE

#include "ops/aft/kernel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_floats {

const AftKernel<float>& (*const kernel)() = nullptr;

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_floats

#else

#define SHIFTGRAD_AFT_SUMS in_floats

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/aft/float_kernel.cpp"
#include <hwy/foreach_target.h>
// Highway wants these below foreach_target.h.
#include "core/machine/dispatch.h"
#include "ops/aft/tiles-inl.h"
// These stand on the tiles, the terms and the vectors.
#include "ops/aft/backward-inl.h"
#include "ops/aft/forward-inl.h"
#include "ops/aft/weights-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_floats::HWY_NAMESPACE {

const AftKernel<float>& kernel() {
  static constexpr AftKernel<float> all = {lanes, make_weights, forward, backward};
  return all;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_floats::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_floats {

SHIFTGRAD_DISPATCH(kernel);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_floats

#endif

#endif
