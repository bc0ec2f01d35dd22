#pragma once

// The element type is chosen at build time: the same sources give a library of floats and, with
// SHIFTGRAD_DOUBLE, one of doubles. Whatever depends on it lives in an inline namespace of its own,
// so that both can be linked into one program without either calling the other's code.

#ifdef SHIFTGRAD_DOUBLE
#define SHIFTGRAD_PRECISION f64
#else
#define SHIFTGRAD_PRECISION f32
#endif

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

#ifdef SHIFTGRAD_DOUBLE
using Scalar = double;
#else
using Scalar = float;
#endif

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
