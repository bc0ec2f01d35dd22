#pragma once

// Products of factors in the form that a kernel reads: those of `gemm` by panels, and the tiles of
// a larger work, whose factors are packed once for many of them.

#include <limits>

#include "core/machine/packed.h"
#include "core/machine/product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The elements (r, c) of a matrix that count: those where lowest ≤ c - r ≤ highest, or if it is
/// `rising` lowest ≤ c + r ≤ highest.
struct Band {
  int64_t lowest = -std::numeric_limits<int64_t>::max() / 4;
  int64_t highest = std::numeric_limits<int64_t>::max() / 4;
  bool rising = false;

  Band rows_from(int64_t first) const {
    int64_t moved = rising ? -first : first;
    return {lowest + moved, highest + moved, rising};
  }
  Band transposed() const { return rising ? *this : Band{-highest, -lowest}; }
  /// The first and the last column that count in one of the rows first … last.
  int64_t begin(int64_t first, int64_t last) const { return lowest + (rising ? -last : first); }
  int64_t end(int64_t first, int64_t last) const { return highest + (rising ? -first : last); }
};

/// Computes c = alpha a b + added on the calling thread. Elements of a outside `of_a` have to be 0,
/// and elements of c outside `of_c` may get any value or keep theirs: what is outside is skipped,
/// as far as it fills whole panels. Both factors are packed, or neither; those that are not are
/// multiplied as floats in every precision.
void tile_product(Scalar alpha, const Factor& a, const Factor& b, Addend added, const Matrix& c,
                  const Band& of_a = {}, const Band& of_c = {});

/// Computes the same for an a that is packed for this product alone, if b is packed.
void tile_product(Scalar alpha, const ConstMatrix& a, const Factor& b, Addend added,
                  const Matrix& c, const Band& of_a = {}, const Band& of_c = {});

/// Whether to pack the factors of products that have so many rows in all: for few, packing takes
/// longer than the products, and so does rounding.
bool packing_pays(int64_t rows);

/// Computes the same for sizes above 0 and a b that `Packed::right` has packed, by its panels.
void panel_product(Scalar alpha, const ConstMatrix& a, const Packed& b, Addend added,
                   const Matrix& c, Threads threads);

/// Computes what `gemm` does for sizes above 0, by the panels of this kernel, on one thread where
/// that is little work. An element of c is always summed in the same order, so its bits depend on
/// its row of a and its column of b alone.
void panel_product(const PanelKernel& kernel, Scalar alpha, const ConstMatrix& a,
                   const ConstMatrix& b, Addend added, const Matrix& c, Threads threads);

/// Computes what `gemm` does, with the same bits, for a b that `Packed::right` has packed: by its
/// panels if they are those of `weights_kernel` and a kernel makes this product, and else by b where
/// it lies.
void gemm(Scalar alpha, const ConstMatrix& a, const Packed& b, Addend added, const Matrix& c,
          Threads threads = Threads::one);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
