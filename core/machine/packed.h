#pragma once

// Factors of products in the form that a kernel reads.

#include <algorithm>
#include <cstdint>

#include "core/machine/kernel.h"
#include "core/machine/matrix.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A factor of a product, or a part of one: numbers, with the elements that a kernel reads if they
/// are packed. A left one is [rows, depth], and a right one [depth, columns].
struct Factor {
  /// The numbers.
  ConstMatrix matrix;
  /// The kernel that reads the elements, or null where nothing is packed.
  const PanelKernel* kernel = nullptr;
  /// The elements of the first panel, and all others of a left factor that lies in rows or columns.
  ConstMatrix elements{};
  /// From one panel to the next, in elements.
  int64_t panel_step = 0;

  /// Some rows of a left factor that lies in rows or columns.
  Factor rows_from(int64_t first, int64_t count) const {
    return {matrix.rows_from(first, count), kernel, elements.rows_from(first, count), panel_step};
  }
  /// The left factor aᵀ; for an a that is packed, if `packs_serve_transposed()`.
  Factor transposed() const;
  /// A part of a right factor: panels stand side by side, so it begins with a pointer into them.
  /// `first_row` must be even, and `first_column` a multiple of `part_columns`.
  Factor block(int64_t first_row, int64_t row_count, int64_t first_column,
               int64_t column_count) const;
};

/// Parts of a right factor begin at multiples of this.
inline constexpr int64_t part_columns = 32;

/// Whether the packed elements of a left factor, read the other way, are those of its transpose.
bool packs_serve_transposed();

/// The Scalars that a packed factor [rows, columns] takes; for a left one, those for its transpose
/// too.
int64_t left_panel_count(int64_t rows, int64_t columns);
int64_t right_panel_count(int64_t rows, int64_t columns);

/// Packs a factor into `panels`; a left one only where it has to be rounded.
Factor pack_left(const ConstMatrix& a, Scalar* panels);
Factor pack_right(const ConstMatrix& b, Scalar* panels);

/// Packs part of a left factor, a block of its rows and columns from an even column on, and returns
/// the whole.
Factor pack_left_part(const ConstMatrix& a, Scalar* panels, int64_t first_row, int64_t row_count,
                      int64_t first_column, int64_t column_count);

/// How a length is cut: into parts of `unit`, and these into even blocks of at most `most` parts.
struct Cut {
  int64_t length, size, count;

  Cut(int64_t whole, int64_t unit, int64_t most) : length(whole) {
    const int64_t units = std::max<int64_t>(divide_up(whole, unit), 1);
    size = divide_up(units, divide_up(units, most)) * unit;
    count = divide_up(whole, size);
  }
  int64_t begin(int64_t block) const { return block * size; }
  int64_t extent(int64_t block) const { return std::min(size, length - begin(block)); }
};

/// A factor in memory of its own, in pieces of some panels and some depths: those for one block of
/// depths, then those for the next. Where a kernel takes numbers as they are, it may stay where it
/// lies.
class Packed {
 public:
  /// A left factor whose pieces have these rows. It has yet to be packed.
  static Packed left(const PanelKernel& kernel, const ConstMatrix& a, const Cut& rows);
  /// A right factor for products of any size. It has yet to be packed, unless it `may_stay` and its
  /// rows are near enough.
  static Packed right(const PanelKernel& kernel, const ConstMatrix& b, bool may_stay);
  /// A right factor in one piece. It is packed now, for the precision of now, or stays as it is.
  Packed(const ConstMatrix& b, bool packs);

  /// Packs all pieces.
  void pack(Threads threads) const;

  /// The whole factor.
  const ConstMatrix& matrix() const { return matrix_; }
  /// The kernel that reads its panels, or null where it is not packed.
  const PanelKernel* kernel() const { return kernel_; }
  /// How its rows, or those of a right one its columns, and its depths are cut into pieces.
  const Cut& pieces() const { return pieces_; }
  const Cut& depths() const { return depths_; }
  /// A piece, of one block of depths.
  Factor piece(int64_t n, int64_t depth_block) const;
  /// A factor that is one piece.
  Factor in_one() const { return piece(0, 0); }

 private:
  enum class Side { left, right };
  enum class Order { in_place, panels, rows, columns };  // of elements

  Packed(const PanelKernel* kernel, const ConstMatrix& matrix, Side side, Order order,
         const Cut& pieces, const Cut& depths);

  static Order left_order(const PanelKernel& kernel, const ConstMatrix& a);
  /// So many rows, or columns of a right factor, of one block of depths.
  ConstMatrix part(int64_t first, int64_t count, int64_t depth_block) const;
  /// The elements of a block of depths.
  int64_t deep(int64_t depth_block) const {
    return depth_block + 1 < depths_.count ? deep_ : last_deep_;
  }
  Scalar* at(int64_t n, int64_t depth_block) const {
    return elements_.data() + padded_ * deep_ * depth_block +
           pieces_.begin(n) / columns_in_element_ * deep(depth_block);
  }

  const PanelKernel* kernel_;
  ConstMatrix matrix_;
  Side side_;
  Order order_;
  Cut pieces_, depths_;
  int64_t width_ = 1, padded_ = 0;    // of a panel, and of all of them, in elements
  int64_t columns_in_element_ = 1;    // of a right factor
  int64_t deep_ = 0, last_deep_ = 0;  // the elements of a block of depths, and of the last
  Buffer elements_{};
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
