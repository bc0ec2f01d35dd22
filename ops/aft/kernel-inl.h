// The kernel of `kernel.h` with sums of one Number, below the frame of a source that is compiled
// once for each instruction set.

#include "core/machine/dispatch.h"
#include "ops/aft/tiles-inl.h"
// These stand on the tiles, the terms, the rows and the vectors.
#include "ops/aft/backward-inl.h"
#include "ops/aft/forward-inl.h"
#include "ops/aft/weights-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

const AftKernel<Number>& kernel() {
  static constexpr AftKernel<Number> all = {lanes, make_weights, forward, backward};
  return all;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS {

SHIFTGRAD_DISPATCH(kernel);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS

#endif
