#pragma once

// Products by BLAS, and thin ones, which neither BLAS nor panels make well.

#include "core/machine/addend.h"
#include "core/machine/kernel.h"
#include "core/machine/matrix.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Whether BLAS makes a product of this shape faster than panels, or as fast. In a build without
/// BLAS, this is so for thin ones, which take no panels.
bool blas_is_faster(const ProductShape& shape);

/// Computes what `gemm` does for sizes above 0, of numbers as they are. A matrix that BLAS cannot
/// express (no stride of 1, or broadcast by a stride of 0) is packed first.
void blas_product(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                  Threads threads);

/// The number of rows up to which a product is thin.
inline constexpr int64_t thin_rows = 8;

/// Computes c = alpha a b + added, and returns true, if c has few rows or few columns and the sums
/// are over elements that lie side by side in a and in b. Such a product takes both where they lie;
/// packing the larger one would take longer than to multiply it. Otherwise it does nothing. The
/// threads share the columns of a c of few rows; its bits do not depend on how.
bool multiply_thin(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Addend added,
                   const Matrix& c, Threads threads = Threads::one);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
