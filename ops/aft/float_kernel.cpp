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
// Highway wants this below foreach_target.h.
#include "ops/aft/kernel-inl.h"

#endif
