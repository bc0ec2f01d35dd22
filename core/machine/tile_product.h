#pragma once

// Products of many small tiles whose factors are packed once, in memory of the caller or of their
// own.
//
// A right factor that is packed serves every product with a part of it: panels stand side by side,
// so a part is a pointer to where it begins. A left factor is read where it lies, or packed if it
// has to be rounded.

#include <limits>

#include "core/machine/blas.h"
#include "core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A left factor, with the elements that its kernel reads if it is packed.
struct LeftFactor {
  ConstMatrix matrix;
  MatrixView<const Scalar> elements{};

  LeftFactor rows_from(int64_t first, int64_t count) const {
    return {matrix.rows_from(first, count), elements.rows_from(first, count)};
  }
  /// The left factor aᵀ for an a that is packed, if `packs_serve_transposed()`.
  LeftFactor transposed() const { return {matrix.transposed(), elements.transposed()}; }
};

/// Whether the packed elements of a left factor, read the other way, are those of its transpose.
bool packs_serve_transposed();

/// A right factor, or a part of one, with its panels if it has any: its own rows, if they serve.
struct PackedFactor {
  ConstMatrix matrix;
  const Scalar* panels = nullptr;
  int64_t panel_step = 0, depth_step = 0;  ///< in Scalars, from one panel or depth to the next

  /// A part. `first_row` must be even, and `first_column` a multiple of `part_columns`.
  PackedFactor block(int64_t first_row, int64_t row_count, int64_t first_column,
                     int64_t column_count) const;
};

/// Parts of a packed factor begin at multiples of this.
inline constexpr int64_t part_columns = 32;

/// Whether to pack a right factor of products that have so many rows in all: for few, packing takes
/// longer than the products, and so does rounding. A `tile_product` of what is not packed is
/// `unrounded_gemm`.
inline bool packing_pays(int64_t rows) { return rows > thin_rows; }

/// The Scalars that a packed factor [rows, columns] takes; for a left one, those for its transpose
/// too.
int64_t left_panel_count(int64_t rows, int64_t columns);
int64_t right_panel_count(int64_t rows, int64_t columns);

/// Packs a factor into `panels`; a left one only where it has to be rounded.
LeftFactor pack_left(const ConstMatrix& a, Scalar* panels);
PackedFactor pack_right(const ConstMatrix& b, Scalar* panels);

/// A right factor of many products, in panels of its own where it is packed.
class PackedMatrix {
  Buffer panels_{};

 public:
  PackedMatrix(const ConstMatrix& b, bool packs);

  PackedFactor factor;

  /// Computes c = a b + beta c.
  void multiply(const ConstMatrix& a, Scalar beta, const Matrix& c) const;
};

/// Packs part of a left factor, a block of its rows and columns from an even column on, and returns
/// the whole.
LeftFactor pack_left_part(const ConstMatrix& a, Scalar* panels, int64_t first_row,
                          int64_t row_count, int64_t first_column, int64_t column_count);

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

/// Computes c = alpha a b + beta c on the calling thread, as `gemm` does. Elements of a outside
/// `of_a` have to be 0, and elements of c outside `of_c` may get any value or keep theirs: what is
/// outside is skipped, as far as it fills whole panels. Both factors are packed, or neither.
void tile_product(Scalar alpha, const LeftFactor& a, const PackedFactor& b, Scalar beta,
                  const Matrix& c, const Band& of_a = {}, const Band& of_c = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
