// The kernel of `kernel.h` whose sums are doubles, compiled once for each instruction set:
// foreach_target.h includes this file again and again.

#define SHIFTGRAD_AFT_SUMS in_doubles

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/aft/kernel.cpp"
#include <hwy/foreach_target.h>
// Highway wants these below foreach_target.h.
#include "core/machine/dispatch.h"
#include "ops/aft/tiles-inl.h"
// These stand on the tiles, the terms and the vectors.
#include "ops/aft/backward-inl.h"
#include "ops/aft/forward-inl.h"
#include "ops/aft/step-inl.h"
#include "ops/aft/weights-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_doubles::HWY_NAMESPACE {

const AftKernel<double>& kernel() {
  static constexpr AftKernel<double> all = {lanes, make_weights, forward, backward, step};
  return all;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_doubles::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_doubles {

SHIFTGRAD_DISPATCH(kernel);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_doubles

#endif
