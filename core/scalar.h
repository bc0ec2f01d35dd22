#pragma once

// The type of all elements, which is chosen at build time. The same sources give a library of
// floats and, with SHIFTGRAD_DOUBLE, one of doubles. Whatever depends on it lives in an inline
// namespace of its own, so that both can be linked into one program without either calling the
// other's code.
//
// The namespace is an ABI tag as well: a function of another namespace that returns a Tensor has
// the tag in its symbol, so a caller built for the other precision finds nothing to link with.
//
// Other files open it as `namespace shiftgrad::SHIFTGRAD_PRECISION`, which tools can read.

#ifdef __clang__
#pragma clang diagnostic ignored "-Winline-namespace-reopened-noninline"
#endif

#ifdef SHIFTGRAD_DOUBLE
#define SHIFTGRAD_PRECISION f64
#else
/// The namespace of the build, f32 or f64, whose names shiftgrad has too.
#define SHIFTGRAD_PRECISION f32
#endif

namespace shiftgrad {

#ifdef SHIFTGRAD_DOUBLE
inline namespace [[gnu::abi_tag("f64")]] f64 {
using Scalar = double;
}
#else
inline namespace [[gnu::abi_tag("f32")]] f32 {
/// The type of a tensor's elements: float, or double with SHIFTGRAD_DOUBLE.
using Scalar = float;
}
#endif

}  // namespace shiftgrad
