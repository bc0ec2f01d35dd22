#pragma once

// One row of a norm, in vectors of doubles whatever Scalar is: where a row's elements are nearly
// equal, the terms of its gradient nearly cancel. The pointers are those of `core/machine/simd.h`.
//
//     y = w ⊙ r (x - m) + b
//     dx = r (g - mean(g)) + s (x - m) Σ g (x - m),   g = w ⊙ dy,  s = 2 r'(q),  q = Σ (x - m)²
//
// A norm that does not centre its rows has m = 0 in these, and dx = r g + s x Σ g x.

#include <cstdint>

#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// m and q of a row of C elements.
struct RowMoments {
  double mean, squares;
};

extern RowMoments (*const moments)(const Scalar* x, int64_t C);

/// The m, r and s of a row.
struct NormedRow {
  double mean, rate, slope;
  bool centered = true;
};

extern void (*const normalize)(const NormedRow& row, const Scalar* x, const Scalar* weight,
                               const Scalar* bias, Scalar* y, int64_t C);

/// dx = beta dx + the gradient of x; a beta of 0 never reads dx.
extern void (*const normalize_backward)(const NormedRow& row, const Scalar* x, const Scalar* weight,
                                        const Scalar* dy, Scalar beta, Scalar* dx, int64_t C);

/// dw += r (x - m) ⊙ dy, db += dy
extern void (*const add_parameter_gradients)(const NormedRow& row, const Scalar* x,
                                             const Scalar* dy, double* dw, double* db, int64_t C);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
