// The kernel of `kernel.h` whose sums are doubles, compiled once for each instruction set:
// foreach_target.h includes this file again and again.

#define SHIFTGRAD_AFT_SUMS in_doubles

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/aft/kernel.cpp"
#include <hwy/foreach_target.h>
// Highway wants these below foreach_target.h.
#include "ops/aft/kernel-inl.h"
#include "ops/aft/step-inl.h"

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_doubles {

SHIFTGRAD_DISPATCH(step);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::in_doubles

#endif
