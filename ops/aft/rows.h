#pragma once

// Does what `aft_mix` needs on rows of neighbouring channels, each time in one pass over memory.
// Terms are t_j = e^(k_j - m) and t_j v_j; den and num are a query's sums over them.

#include "shiftgrad/core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION::aft_rows {

/// Computes t and t v. Returns whether all elements are numbers and none is greater than `largest`.
bool terms(const Scalar* k, const Scalar* v, const Scalar* m, Scalar largest, Scalar* t, Scalar* tv,
           int64_t width);

/// num += t v, den += t
void add_term(const Scalar* k, const Scalar* v, const Scalar* m, Scalar* numerator,
              Scalar* denominator, int64_t width);

/// y = num / den and 1 / den. Returns whether a den is less than `smallest`.
bool quotient(const Scalar* numerator, const Scalar* denominator, Scalar smallest, Scalar* y,
              Scalar* inverse, int64_t width);

/// dnum = dy / den, dden = -dnum y; both are 0 where dy is 0, even if y is not a number.
void quotient_gradient(const Scalar* dy, const Scalar* y, const Scalar* inverse,
                       Scalar* ddenominator, Scalar* dnumerator, int64_t width);

/// The place to which a gradient is added: target = beta target + gradient, where a beta of 0 never
/// reads target. A null target takes nothing.
struct RowSink {
  Scalar* target;
  Scalar beta;
};

/// dk = t dden + t v dnum, dv = t dnum
void term_gradient(const Scalar* t, const Scalar* tv, const Scalar* ddenominator,
                   const Scalar* dnumerator, const RowSink& dk, const RowSink& dv, int64_t width);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft_rows
