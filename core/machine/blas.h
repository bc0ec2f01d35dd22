#pragma once

// Computes c = alpha a b + beta c for matrices given by strides. A transposed matrix is one with
// its strides swapped; it costs nothing.

#include "core/machine/matrix.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What is added to a product: beta c or, if there is a `row`, beta times that to each row of c.
struct Addend {
  /// The factor of c or of the row.
  Scalar beta;
  /// As many numbers as c has columns, or null.
  const Scalar* row;

  /// Adds beta c, or a row.
  Addend(Scalar factor, const Scalar* values = nullptr) : beta(factor), row(values) {}

  /// What is added to the columns of c from `first` on.
  Addend columns_from(int64_t first) const { return {beta, row ? row + first : nullptr}; }
  /// What beta multiplies.
  ConstMatrix in(const Matrix& c) const {
    return row ? ConstMatrix{row, c.rows, c.columns, 0, 1} : c;
  }
  /// Puts the row into c, if there is one; returns what is to be added then.
  Scalar put_into(const Matrix& c) const;
};

/// Computes c = alpha a b + beta c, where a is [m, k], b is [k, n] and c is [m, n], or adds a row
/// in place of beta c. A beta of 0 never reads c, and with k = 0 the product is zero. Strides are
/// free: a transposed matrix is passed to BLAS as such, and one that BLAS cannot express (no stride
/// of 1, or broadcast by a stride of 0) is packed first. The elements of c must not overlap each
/// other, a or b. Floats are rounded first where `set_product_precision` asks for it. On all
/// threads, c is cut into tiles, or its sums into parts where they are far longer than c is wide;
/// where the cuts are depends on the sizes only. Throws an Error if the sizes do not fit together,
/// and if BLAS would be given one beyond its 32-bit integers. (PyTorch: torch.addmm; BLAS: sgemm,
/// dgemm)
void gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
          Threads threads = Threads::one);

/// Returns whether c = alpha a b + added has anything to multiply; where its sums are empty, it
/// sets c to what is added. Throws an Error unless a is [m, k], b is [k, n] and c is [m, n] without
/// strides of 0.
bool has_products(const ConstMatrix& a, const ConstMatrix& b, Addend added, const Matrix& c);

/// The number of multiplications in c = a b.
double multiplications(const ConstMatrix& a, const ConstMatrix& c);

/// The number of multiplications that are worth a thread. They take about 10 microseconds on one
/// thread, and cutting the work up costs one microsecond.
inline constexpr double worthwhile_products = 4e5;

/// The number of rows up to which a product is thin.
inline constexpr int64_t thin_rows = 8;

/// Computes c = alpha a b + added, and returns true, if c has few rows or few columns and the sums
/// are over elements that lie side by side in a and in b. Such a product takes both where they lie;
/// packing the larger one would take longer than to multiply it. Otherwise it does nothing.
bool multiply_thin(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Addend added,
                   const Matrix& c);

/// Whether `unrounded_gemm` computes c = a b by panels.
bool takes_panels(const ConstMatrix& a, const Matrix& c);

/// Computes what `gemm` does with a and b as they are, by panels (core/machine/packed_product.h).
void panel_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                Threads threads);

/// Computes what `gemm` does with a and b as they are, whatever the precision of products: by
/// OpenBLAS, or by panels where these are faster.
void unrounded_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                    Threads threads);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
