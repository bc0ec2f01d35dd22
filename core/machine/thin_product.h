#pragma once

#include "core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Computes c = alpha a b + beta c, and returns true, if c has few rows or few columns and the sums
/// are over elements that lie side by side in a and in b. Such a product takes both where they lie;
/// packing the larger one would take longer than to multiply it. Else it does nothing.
bool multiply_thin(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Scalar beta,
                   const Matrix& c);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
