// The loop of a matrix product by panels (Goto and van de Geijn 2008): a small tile of c stays in
// registers, and panels of a and b that were packed for it stream past.

#include "core/machine/packed_product.h"

#include <algorithm>
#include <optional>

#include "core/interval.h"
#include "core/machine/blas.h"
#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the columns of c that a band leaves of a tile, in whole parts of a panel.
Interval columns_of(const PanelKernel& kernel, int64_t columns, int64_t begin, int64_t end) {
  const int64_t part = kernel.part_columns;
  return {begin <= 0 ? 0 : std::min(begin, columns) / part * part,
          end >= columns ? columns
                         : std::min(divide_up(std::max<int64_t>(end, 0), part) * part, columns)};
}

/// Returns the elements of depth that a band leaves of a left factor, in whole steps.
Interval depths_of(const PanelKernel& kernel, const Factor& a, int64_t begin, int64_t end) {
  const int64_t depth = a.matrix.columns, step = kernel.numbers * kernel.depth_step;
  return {begin <= 0 ? 0 : std::min(begin, depth) / step * kernel.depth_step,
          end >= depth ? a.elements.columns : divide_up(std::max<int64_t>(end, 0), kernel.numbers)};
}

/// The number of blocks that a result is cut into, if it has as many panels, for the threads to
/// share: more for a larger product, so that each has enough to do.
int64_t shared_blocks(const ProductShape& shape) {
  constexpr double worthwhile = 1 << 22;
  return static_cast<int64_t>(std::clamp(shape.multiplications() / worthwhile, 8.0, 64.0));
}

/// The threads that are worth their while: one where a and b are small. A kernel that multiplies
/// several numbers in one go makes more of them in the same time.
Threads worthwhile_threads(const PanelKernel& kernel, const ConstMatrix& a, const Matrix& c,
                           Threads threads) {
  const ProductShape shape(a, c);
  const double worthwhile = worthwhile_products * static_cast<double>(kernel.numbers);
  const bool is_worth_it =
      shape.multiplications() >= worthwhile ||
      (c.rows <= thin_rows && shape.depth * shape.columns >= worthwhile_numbers);
  return is_worth_it ? threads : Threads::one;
}

/// c = alpha a b + added for an a of one row. Threads share the columns of c. All panels of a block
/// of depths lie one behind another.
void multiply_row(Scalar alpha, const ConstMatrix& a, const Packed& b, Addend added,
                  const Matrix& c, Threads threads) {
  const PanelKernel& kernel = *b.kernel();
  const Buffer packed(divide_up(a.columns, kernel.numbers));
  kernel.pack_row(a.transposed(), packed.data());
  constexpr int64_t panels_of_a_task = 8;  // a long run of memory
  const Cut tasks(c.columns, kernel.tile_columns, panels_of_a_task);
  for_each_task(threads, tasks.count, [&](int64_t n) {
    const int64_t first = tasks.begin(n);
    const Matrix part = c.columns_from(first, tasks.extent(n));
    const Scalar* row = packed.data();
    for (int64_t depth = 0; depth < b.depths().count; ++depth) {
      const ConstMatrix panels = b.piece(0, depth).elements;
      kernel.multiply_row({row, 1, panels.rows, 1, 1},
                          panels.data + first / kernel.columns_in_element * panels.rows, alpha,
                          depth == 0 ? added.columns_from(first) : 1, part);
      row += panels.rows;
    }
  });
}

/// c = alpha a b + added for a packed b. Each block of c is finished while it is in the caches.
/// Where c is one block wide, the rows of a that a block needs are packed for it alone, by the
/// thread that multiplies them; else all of a is packed first.
void multiply_blocks(Scalar alpha, const ConstMatrix& a, const Packed& b, Addend added,
                     const Matrix& c, Threads threads) {
  const PanelKernel& kernel = *b.kernel();
  const Cut& columns = b.pieces();
  const int64_t most_panels = kernel.blocks.row_panels;
  const int64_t row_panels =
      threads == Threads::one
          ? most_panels
          : divide_up(c.rows, kernel.tile_rows) * columns.count / shared_blocks(ProductShape(a, c));
  const Cut rows(c.rows, kernel.tile_rows, std::clamp<int64_t>(row_panels, 1, most_panels));
  std::optional<Packed> whole;
  if (columns.count > 1) whole.emplace(Packed::left(kernel, a, rows)).pack(threads);
  for_each_task(threads, rows.count * columns.count, [&](int64_t task) {
    const int64_t i = task / columns.count, j = task % columns.count;
    const Matrix block =
        c.block(rows.begin(i), rows.extent(i), columns.begin(j), columns.extent(j));
    auto multiply_by = [&](const Packed& left, int64_t piece) {
      for (int64_t depth = 0; depth < b.depths().count; ++depth)
        tile_product(alpha, left.piece(piece, depth), b.piece(j, depth),
                     depth == 0 ? added.columns_from(columns.begin(j)) : 1, block);
    };
    if (whole) return multiply_by(*whole, i);
    const Cut all(rows.extent(i), kernel.tile_rows, most_panels);
    const Packed part = Packed::left(kernel, a.rows_from(rows.begin(i), rows.extent(i)), all);
    part.pack(Threads::one);
    multiply_by(part, 0);
  });
}

/// Whether the tiles fit the transposed product better: its rows lie dense, or a tile of columns
/// would be almost empty.
bool is_better_transposed(const Matrix& c) {
  if (c.columns == 1) return c.rows > 1;
  return c.rows > 1 && c.column_stride != 1 && c.row_stride == 1;
}

}  // namespace

void tile_product(Scalar alpha, const Factor& a, const Factor& b, Addend added, const Matrix& c,
                  const Band& of_a, const Band& of_c) {
  if (!b.kernel && c.rows == 1 && c.column_stride == 1 && b.matrix.column_stride == 1)
    return simd::row_product(alpha, a.matrix, b.matrix, added.put_into(c), c);
  if (!b.kernel) return gemm(alpha, a.matrix, b.matrix, added, c, Threads::one, Precision::float32);
  const PanelKernel& kernel = *b.kernel;
  const Scalar* panel = b.elements.data;
  const int64_t step = b.elements.row_stride;
  for (int64_t column = 0; column < c.columns; column += kernel.tile_columns) {
    const int64_t width = std::min(kernel.tile_columns, c.columns - column);
    const Scalar* rows_of_a = a.elements.data;
    for (int64_t row = 0; row < c.rows; row += kernel.tile_rows, rows_of_a += a.panel_step) {
      const int64_t rows = std::min(kernel.tile_rows, c.rows - row), last = row + rows - 1;
      const Interval columns = columns_of(kernel, width, of_c.begin(row, last) - column,
                                          of_c.end(row, last) + 1 - column);
      if (columns.size() <= 0) continue;
      const Interval depths = depths_of(kernel, a, of_a.begin(row, last), of_a.end(row, last) + 1);
      ConstMatrix left = a.elements;
      left.data = rows_of_a;
      kernel.multiply(left.block(0, rows, depths.begin, std::max<int64_t>(depths.size(), 0)),
                      panel + depths.begin * step + columns.begin, step, alpha,
                      added.columns_from(column + columns.begin),
                      c.block(row, rows, column + columns.begin, columns.size()));
    }
    panel += b.panel_step;
  }
}

void tile_product(Scalar alpha, const ConstMatrix& a, const Factor& b, Addend added,
                  const Matrix& c, const Band& of_a, const Band& of_c) {
  if (!b.kernel) return tile_product(alpha, Factor{a}, b, added, c, of_a, of_c);
  const Buffer panels(left_panel_count(a.rows, a.columns));
  tile_product(alpha, pack_left(a, panels.data()), b, added, c, of_a, of_c);
}

bool packing_pays(int64_t rows) { return rows > thin_rows; }

void panel_product(Scalar alpha, const ConstMatrix& a, const Packed& b, Addend added,
                   const Matrix& c, Threads threads) {
  threads = worthwhile_threads(*b.kernel(), a, c, threads);
  if (c.rows == 1) return multiply_row(alpha, a, b, added, c, threads);
  multiply_blocks(alpha, a, b, added, c, threads);
}

void panel_product(const PanelKernel& kernel, Scalar alpha, const ConstMatrix& a,
                   const ConstMatrix& b, Addend added, const Matrix& c, Threads threads) {
  if (is_better_transposed(c))
    return panel_product(kernel, alpha, b.transposed(), a.transposed(), Addend(added.put_into(c)),
                         c.transposed(), threads);
  const Packed right = Packed::right(kernel, b, c.rows > 1);
  right.pack(worthwhile_threads(kernel, a, c, threads));
  panel_product(alpha, a, right, added, c, threads);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
