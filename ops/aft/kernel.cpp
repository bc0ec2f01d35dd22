// The kernel of `kernel.h`, compiled once for each instruction set: foreach_target.h includes this
// file again and again.

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

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE {

const AftKernel& kernel() {
  static constexpr AftKernel all = {lanes, make_weights, forward, backward, step};
  return all;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::aft {

SHIFTGRAD_DISPATCH(kernel);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft

#endif
