#pragma once

// The loop of a matrix product by panels (Goto and van de Geijn 2008): a small tile of c stays in
// registers, and panels of a and b that were packed for it stream past. It is written once, for any
// kernel: a kernel packs, and multiplies two panels.
//
// A panel of a has the numbers of a few rows, and a panel of b those of a few columns; for each
// depth, the direction of the sum, they lie side by side. What is missing at the edges is 0. Some
// CPUs multiply two numbers in one go: the elements of their panels are pairs. Some kernels take
// the rows of a one behind another, and what is missing there is anything.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/machine/blas.h"
#include "core/machine/matrix.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How a product is cut for the caches, and which factors stay where they lie. It follows from the
/// CPU alone, and so do the bits of sums.
struct PanelBlocks {
  /// The most elements that are added up in one go. A panel of 32 columns with 4 bytes for an
  /// element then takes 32 KiB, about a core's first cache, and 8 panels of 12 rows take 96 KiB of
  /// its second one.
  int64_t depth = 256;
  /// The most panels of a and of b whose tiles one thread computes in a row.
  int64_t row_panels = 8, column_panels = 4;
  /// The greatest distance between dense columns of a, and between dense rows of b, that stay where
  /// they lie if the kernel takes numbers as they are. Dense rows of a always do.
  int64_t columns_in_place = std::numeric_limits<int64_t>::max(), rows_in_place = 0;
};

/// How the elements of a packed a lie: depth behind depth in each panel; row behind row; or depth
/// behind depth of all rows that are packed together, if the columns of a are dense, and else row
/// behind row.
enum class LeftPanels { by_depth, in_rows, as_it_lies };

/// The part of a product that is written for one kind of CPU.
template <class Element>
struct PanelKernel {
  /// Packs the columns of a matrix [depth, n] into panels, one behind another.
  using Pack = void (*)(const ConstMatrix& m, Element* panels);

  /// The rows and columns of c that one tile computes.
  int64_t tile_rows, tile_columns;
  /// The columns that `multiply` can leave out at either side of a tile, in multiples of these.
  int64_t part_columns = tile_columns;
  /// The numbers in an element of a panel, which follow one another in depth.
  int64_t numbers;
  /// The elements whose products are added up in one go: a sum is cut at multiples of them alone.
  int64_t depth_step = 1;
  /// How `pack_left` puts a. With `in_rows`, `convert` puts rows alone.
  LeftPanels left_panels = LeftPanels::by_depth;
  /// Pack aᵀ into panels of `tile_rows`, and b into panels of `tile_columns`.
  Pack pack_left, pack_right;
  /// c = alpha a b + added for an a [rows, depth] of elements at any strides and one panel of b; c
  /// is a tile, or less at the edges. Where a tile has more rows than c, those of a that c lacks
  /// are read too. `step` is `tile_columns`; where numbers are elements, rows of b may lie farther
  /// apart.
  void (*multiply)(const MatrixView<const Element>& a, const Element* b, int64_t step, Scalar alpha,
                   Addend added, const Matrix& c);
  /// Packs an a of one row into a panel of that row alone.
  Pack pack_row;
  /// Multiplies one row with as many panels of b as c is wide.
  void (*multiply_row)(const MatrixView<const Element>& a, const Element* b, Scalar alpha,
                       Addend added, const Matrix& c);
  /// Turns an a into elements [rows, depth] in rows `step` apart or, where its columns lie dense
  /// and may stay so, in columns `step` apart. It is null where numbers are elements.
  void (*convert)(const ConstMatrix& a, Element* elements, int64_t step) = nullptr;
  PanelBlocks blocks{};
};

namespace simd {
/// The kernel for numbers as they are, in the widest vectors that the CPU has.
extern const PanelKernel<Scalar>& (*const vector_kernel)();
/// The kernel for floats that are rounded to bfloat16 as they are packed, in such vectors too.
extern const PanelKernel<Scalar>& (*const rounding_kernel)();
}  // namespace simd

/// Two bfloat16 numbers, the first in the lower half. A bfloat16 instruction multiplies pairs: each
/// lane of a sum gets a₀ b₀ + a₁ b₁. So the elements of a panel are pairs of numbers that follow
/// one another in depth.
using Bfloat16Pair = uint32_t;
/// The functions that round to pairs and multiply these: for AVX512_BF16, and for AMX.
using Bfloat16Kernel = PanelKernel<Bfloat16Pair>;

/// The kernel for this CPU, or null if it has no instructions for bfloat16, or none that are faster
/// than those for floats.
const Bfloat16Kernel* bfloat16_kernel();

/// Returns `bfloat16_kernel()`, or null while `allow_fast_bfloat16_products` forbids it.
const Bfloat16Kernel* pair_kernel();

/// Calls body(kernel) for the kernel that products use when they round.
template <class Body>
auto with_rounding_kernel(Body body) {
  if constexpr (sizeof(Scalar) == sizeof(Bfloat16Pair))
    if (const Bfloat16Kernel* pairs = pair_kernel()) return body(*pairs);
  return body(simd::rounding_kernel());
}

/// Whether a kernel can take the rows of b where they lie.
template <class Element>
bool lies_in_panels(const PanelKernel<Element>& kernel, const ConstMatrix& b) {
  return !kernel.convert && b.column_stride == 1 && b.columns % kernel.tile_columns == 0;
}

/// Calls body(row, rows, column, columns) for the tiles of c, panel of b by panel of b.
template <class Element>
void for_tiles(const PanelKernel<Element>& kernel, const Matrix& c, auto body) {
  for (int64_t column = 0; column < c.columns; column += kernel.tile_columns)
    for (int64_t row = 0; row < c.rows; row += kernel.tile_rows)
      body(row, std::min(kernel.tile_rows, c.rows - row), column,
           std::min(kernel.tile_columns, c.columns - column));
}

namespace packed_product_parts {

/// The number of blocks that a result is cut into, if it has as many panels, for the threads to
/// share.
constexpr int64_t shared_blocks = 8;

/// Cuts a length into parts of `unit`, and puts these into even blocks of at most `most`.
struct Blocks {
  int64_t length, size, count;

  Blocks(int64_t whole, int64_t unit, int64_t most) : length(whole) {
    const int64_t units = std::max<int64_t>(divide_up(whole, unit), 1);
    size = divide_up(units, divide_up(units, most)) * unit;
    count = divide_up(whole, size);
  }
  int64_t begin(int64_t block) const { return block * size; }
  int64_t extent(int64_t block) const { return std::min(size, length - begin(block)); }
};

}  // namespace packed_product_parts

/// One operand of a product in panels, all of it: those for one block of depths, then those for the
/// next. Where a kernel takes numbers as they are, an operand may stay where it lies.
template <class Element>
class PackedOperand {
 public:
  /// The operand is [depth, length]: aᵀ or b. It is packed piece by piece; until then the memory is
  /// uninitialised.
  static PackedOperand left(const PanelKernel<Element>& kernel, const ConstMatrix& a) {
    const bool stays = a.column_stride == 1 ||
                       (a.row_stride == 1 && a.column_stride <= kernel.blocks.columns_in_place);
    if (!kernel.convert && stays) return {kernel, a.transposed(), 1, 1, nullptr};
    return {kernel, a.transposed(), kernel.tile_rows, kernel.blocks.row_panels, kernel.pack_left};
  }
  /// A b that `may_stay` is not packed if it lies in panels whose rows are near enough.
  static PackedOperand right(const PanelKernel<Element>& kernel, const ConstMatrix& b,
                             bool may_stay = false) {
    const bool stays =
        may_stay && lies_in_panels(kernel, b) && b.row_stride <= kernel.blocks.rows_in_place;
    return {kernel, b, kernel.tile_columns, kernel.blocks.column_panels,
            stays ? nullptr : kernel.pack_right};
  }

  int64_t pieces() const { return pack_ ? pieces_.count * depths_.count : 0; }
  void pack(int64_t piece) const {
    const int64_t n = piece % pieces_.count, depth = piece / pieces_.count;
    pack_(operand_.block(depths_.begin(depth), depths_.extent(depth), pieces_.begin(n),
                         pieces_.extent(n)),
          at(pieces_.begin(n), depth));
  }

  int64_t depth_blocks() const { return depths_.count; }
  /// The elements that a panel has for a block of depths.
  int64_t depth(int64_t block) const {
    return divide_up(depths_.extent(block), numbers_);
  }
  /// The panels from that of column `first` on, for a block of depths.
  Element* at(int64_t first, int64_t block) const {
    return elements_.data() + padded_ * depths_.begin(block) / numbers_ + first * depth(block);
  }
  /// The panel of b from column `first` on for a block of depths, and the distance of its rows.
  std::pair<const Element*, int64_t> panel(int64_t first, int64_t block) const {
    if constexpr (std::is_same_v<Element, Scalar>)
      if (!pack_) return {&operand_.at(depths_.begin(block), first), operand_.row_stride};
    return {at(first, block), width_};
  }
  /// The rows of a from `first` on that one tile multiplies, for a block of depths.
  MatrixView<const Element> rows(int64_t first, int64_t count, int64_t block) const {
    if constexpr (std::is_same_v<Element, Scalar>)
      if (!pack_)
        return operand_.block(depths_.begin(block), depths_.extent(block), first, count)
            .transposed();
    if (in_rows_) return {at(first, block), width_, depth(block), depth(block), 1};
    if (in_columns_) {
      const int64_t piece = first / pieces_.size, begin = pieces_.begin(piece);
      return {at(begin, block) + first - begin, count, depth(block), 1, pieces_.extent(piece)};
    }
    return {at(first, block), width_, depth(block), 1, width_};
  }

 private:
  PackedOperand(const PanelKernel<Element>& kernel, const ConstMatrix& operand, int64_t width,
                int64_t most_panels, typename PanelKernel<Element>::Pack pack)
      : operand_(operand),
        numbers_(kernel.numbers),
        width_(width),
        in_columns_(kernel.left_panels == LeftPanels::as_it_lies &&
                    has_dense_columns(operand.transposed())),
        in_rows_(kernel.left_panels != LeftPanels::by_depth && !in_columns_),
        pieces_(operand.columns, width, most_panels),
        depths_(operand.rows, kernel.numbers * kernel.depth_step,
                kernel.blocks.depth / kernel.depth_step),
        padded_(divide_up(operand.columns, width) * width),
        pack_(pack),
        elements_(pack ? padded_ * divide_up(operand.rows, numbers_) : 0) {}

  ConstMatrix operand_;
  int64_t numbers_, width_;
  bool in_columns_, in_rows_;  // an a
  packed_product_parts::Blocks pieces_, depths_;
  int64_t padded_;
  typename PanelKernel<Element>::Pack pack_;
  CachedArray<Element> elements_;
};

/// Packs an operand.
template <class Element>
void pack(Threads threads, const PackedOperand<Element>& operand) {
  for_each_task(threads, operand.pieces(), [&](int64_t n) { operand.pack(n); });
}

namespace packed_product_parts {

/// block = alpha a b + added for packed operands from `row` of a and `column` of b on.
template <class Element>
void multiply_block(const PanelKernel<Element>& kernel, Scalar alpha,
                    const PackedOperand<Element>& a, int64_t row, const PackedOperand<Element>& b,
                    int64_t column, Addend added, const Matrix& block) {
  for (int64_t depth = 0; depth < b.depth_blocks(); ++depth) {
    const Addend kept = depth == 0 ? added : 1;
    for_tiles(kernel, block, [&](int64_t first, int64_t count, int64_t left, int64_t width) {
      const auto [panel, step] = b.panel(column + left, depth);
      kernel.multiply(a.rows(row + first, count, depth), panel, step, alpha,
                      kept.columns_from(left), block.block(first, count, left, width));
    });
  }
}

/// c = alpha a b + added for an a of one row. Threads share the columns of c.
template <class Element>
void multiply_row(const PanelKernel<Element>& kernel, Threads threads, Scalar alpha,
                  const ConstMatrix& a, const PackedOperand<Element>& b, Addend added,
                  const Matrix& c) {
  const CachedArray<Element> packed(divide_up(a.columns, kernel.numbers));
  kernel.pack_row(a.transposed(), packed.data());
  const int64_t width = kernel.tile_columns * kernel.blocks.column_panels;
  for_each_task(threads, divide_up(c.columns, width), [&](int64_t n) {
    const Matrix part = c.columns_from(n * width, std::min(width, c.columns - n * width));
    const Element* row = packed.data();
    for (int64_t depth = 0; depth < b.depth_blocks(); row += b.depth(depth++))
      kernel.multiply_row({row, 1, b.depth(depth), 1, 1}, b.at(n * width, depth), alpha,
                          depth == 0 ? added.columns_from(n * width) : 1, part);
  });
}

/// c = alpha a b + added for a packed b. Each block of c is finished while it is in the caches.
/// Where c is one block wide, the rows of a that a block needs are packed for it alone, by the
/// thread that multiplies them; else all of a is packed first.
template <class Element>
void multiply_blocks(const PanelKernel<Element>& kernel, Threads threads, Scalar alpha,
                     const ConstMatrix& a, const PackedOperand<Element>& b, Addend added,
                     const Matrix& c) {
  using Operand = PackedOperand<Element>;
  if (c.rows == 1) return multiply_row(kernel, threads, alpha, a, b, added, c);
  const Blocks columns(c.columns, kernel.tile_columns, kernel.blocks.column_panels);
  const int64_t most_panels = kernel.blocks.row_panels;
  const int64_t row_panels =
      threads == Threads::one
          ? most_panels
          : divide_up(c.rows, kernel.tile_rows) * columns.count / shared_blocks;
  const Blocks rows(c.rows, kernel.tile_rows, std::clamp<int64_t>(row_panels, 1, most_panels));
  std::optional<Operand> whole;
  if (columns.count > 1) pack(threads, whole.emplace(Operand::left(kernel, a)));
  for_each_task(threads, rows.count * columns.count, [&](int64_t n) {
    const int64_t row = rows.begin(n / columns.count), count = rows.extent(n / columns.count);
    const int64_t column = columns.begin(n % columns.count);
    const Matrix block = c.block(row, count, column, columns.extent(n % columns.count));
    const Addend to_block = added.columns_from(column);
    if (whole) return multiply_block(kernel, alpha, *whole, row, b, column, to_block, block);
    const Operand part = Operand::left(kernel, a.rows_from(row, count));
    pack(Threads::one, part);
    multiply_block(kernel, alpha, part, 0, b, column, to_block, block);
  });
}

/// The threads that are worth their while: one where a and b are small. A kernel that multiplies
/// several numbers in one go makes more of them in the same time.
template <class Element>
Threads worthwhile_threads(const PanelKernel<Element>& kernel, Threads threads,
                           const ConstMatrix& a, const Matrix& c) {
  const double worthwhile = worthwhile_products * static_cast<double>(kernel.numbers);
  return multiplications(a, c) < worthwhile ? Threads::one : threads;
}

/// Whether the tiles fit the transposed product better: its rows lie dense, or a tile of columns
/// would be almost empty.
inline bool is_better_transposed(const Matrix& c) {
  if (c.columns == 1) return c.rows > 1;
  return c.rows > 1 && c.column_stride != 1 && c.row_stride == 1;
}

}  // namespace packed_product_parts

/// Computes what `gemm` does for sizes above 0, on one thread where that is little work. An
/// element of c is always summed in the same order, so its bits depend on its row of a and its
/// column of b alone.
template <class Element>
void packed_product(const PanelKernel<Element>& kernel, Threads threads, Scalar alpha,
                    const ConstMatrix& a, const ConstMatrix& b, Addend added, const Matrix& c) {
  if (packed_product_parts::is_better_transposed(c))
    return packed_product(kernel, threads, alpha, b.transposed(), a.transposed(),
                          Addend(added.put_into(c)), c.transposed());
  threads = packed_product_parts::worthwhile_threads(kernel, threads, a, c);
  const auto right = PackedOperand<Element>::right(kernel, b, c.rows > 1);
  pack(threads, right);
  packed_product_parts::multiply_blocks(kernel, threads, alpha, a, right, added, c);
}

/// Computes the same for a b that is packed.
template <class Element>
void packed_product(const PanelKernel<Element>& kernel, Threads threads, Scalar alpha,
                    const ConstMatrix& a, const PackedOperand<Element>& b, Addend added,
                    const Matrix& c) {
  threads = packed_product_parts::worthwhile_threads(kernel, threads, a, c);
  packed_product_parts::multiply_blocks(kernel, threads, alpha, a, b, added, c);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
