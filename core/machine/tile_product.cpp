#include "core/machine/tile_product.h"

#include <algorithm>

#include "core/machine/bfloat16_product.h"
#include "core/machine/blas.h"
#include "core/machine/packed_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Calls body(kernel) for the kernel to use in the process's precision.
template <class Body>
auto with_kernel(Body body) {
  if (products_round()) return with_rounding_kernel(body);
  return body(simd::vector_kernel());
}

/// The distance between the rows or columns of a packed left factor of this length: whole lines.
int64_t left_step(int64_t length) { return divide_up(length, 16) * 16; }

template <class Element>
void multiply_tiles(const PanelKernel<Element>& kernel, Scalar alpha, const LeftFactor& a,
                    const PackedFactor& b, Scalar beta, const Matrix& c, const Band& of_a,
                    const Band& of_c) {
  const Element* panels = reinterpret_cast<const Element*>(b.panels);
  const MatrixView<const Element> left = {reinterpret_cast<const Element*>(a.elements.data),
                                          a.elements.rows, a.elements.columns,
                                          a.elements.row_stride, a.elements.column_stride};
  for_tiles(kernel, c, [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const int64_t last = row + rows - 1;
    const int64_t part = kernel.part_columns;
    auto within = [&](int64_t bound) { return std::clamp<int64_t>(bound - column, 0, columns); };
    const int64_t first = within(of_c.begin(row, last)) / part * part;
    const int64_t behind = divide_up(within(of_c.end(row, last) + 1), part) * part;
    const int64_t width = std::min(behind, columns) - first;
    if (width <= 0) return;
    const Element* panel = panels + column / kernel.tile_columns * b.panel_step + first;
    const int64_t begin = std::clamp<int64_t>(of_a.begin(row, last), 0, a.matrix.columns) /
                          (kernel.numbers * kernel.depth_step) * kernel.depth_step;
    const int64_t end = divide_up(
        std::clamp<int64_t>(of_a.end(row, last) + 1, 0, a.matrix.columns), kernel.numbers);
    const MatrixView<const Element> rows_of_a =
        left.block(row, rows, begin, std::max<int64_t>(end - begin, 0));
    kernel.multiply(rows_of_a, panel + begin * b.depth_step, b.depth_step, alpha, beta,
                    c.block(row, rows, column + first, width));
  });
}

}  // namespace

bool packs_serve_transposed() {
  return with_kernel([](const auto& kernel) {
    return kernel.numbers == 1 && kernel.left_panels != LeftPanels::in_rows;
  });
}

PackedFactor PackedFactor::block(int64_t first_row, int64_t row_count, int64_t first_column,
                                 int64_t column_count) const {
  const ConstMatrix part = matrix.block(first_row, row_count, first_column, column_count);
  if (!panels) return {part};
  return with_kernel([&](const auto& kernel) -> PackedFactor {
    return {part,
            panels + first_column / kernel.tile_columns * panel_step +
                first_row / kernel.numbers * depth_step,
            panel_step, depth_step};
  });
}

int64_t left_panel_count(int64_t rows, int64_t columns) {
  return with_kernel([&](const auto& kernel) -> int64_t {
    if (!kernel.convert) return 0;
    // A kernel reads whole tiles of rows.
    auto in_either_order = [&](int64_t its_rows, int64_t its_columns) {
      const int64_t depth = divide_up(its_columns, kernel.numbers);
      return std::max((its_rows + kernel.tile_rows) * left_step(depth),
                      left_step(its_rows) * depth + kernel.tile_rows);
    };
    return std::max(in_either_order(rows, columns), in_either_order(columns, rows));
  });
}

int64_t right_panel_count(int64_t rows, int64_t columns) {
  return with_kernel([&](const auto& kernel) -> int64_t {
    return divide_up(columns, kernel.tile_columns) * kernel.tile_columns *
           divide_up(rows, kernel.numbers);
  });
}

LeftFactor pack_left(const ConstMatrix& a, Scalar* panels) {
  return pack_left_part(a, panels, 0, a.rows, 0, a.columns);
}

LeftFactor pack_left_part(const ConstMatrix& a, Scalar* panels, int64_t first_row,
                          int64_t row_count, int64_t first_column, int64_t column_count) {
  return with_kernel([&]<class Element>(const PanelKernel<Element>& kernel) -> LeftFactor {
    if (!kernel.convert) return {a, a};
    const int64_t depth = divide_up(a.columns, kernel.numbers);
    MatrixView<Scalar> elements = {panels, a.rows, depth, left_step(depth), 1};
    if (has_dense_columns(a) && kernel.left_panels != LeftPanels::in_rows)
      elements = {panels, a.rows, depth, 1, left_step(a.rows)};
    kernel.convert(
        a.block(first_row, row_count, first_column, column_count),
        reinterpret_cast<Element*>(&elements.at(first_row, first_column / kernel.numbers)),
        std::max(elements.row_stride, elements.column_stride));
    return {a, elements};
  });
}

PackedFactor pack_right(const ConstMatrix& b, Scalar* panels) {
  return with_kernel([&]<class Element>(const PanelKernel<Element>& kernel) -> PackedFactor {
    if (lies_in_panels(kernel, b)) return {b, b.data, kernel.tile_columns, b.row_stride};
    kernel.pack_right(b, reinterpret_cast<Element*>(panels));
    return {b, panels, divide_up(b.rows, kernel.numbers) * kernel.tile_columns,
            kernel.tile_columns};
  });
}

PackedMatrix::PackedMatrix(const ConstMatrix& b, bool packs)
    : panels_(packs && !with_kernel([&](const auto& kernel) { return lies_in_panels(kernel, b); })
                  ? Buffer(right_panel_count(b.rows, b.columns))
                  : Buffer()),
      factor(packs ? pack_right(b, panels_.data()) : PackedFactor{b}) {}

void PackedMatrix::multiply(const ConstMatrix& a, Scalar beta, const Matrix& c) const {
  if (!factor.panels) return unrounded_gemm(1, a, factor.matrix, beta, c, Threads::one);
  Buffer panels(left_panel_count(a.rows, a.columns));
  tile_product(1, pack_left(a, panels.data()), factor, beta, c);
}

void tile_product(Scalar alpha, const LeftFactor& a, const PackedFactor& b, Scalar beta,
                  const Matrix& c, const Band& of_a, const Band& of_c) {
  if (!b.panels) return unrounded_gemm(alpha, a.matrix, b.matrix, beta, c, Threads::one);
  with_kernel(
      [&](const auto& kernel) { multiply_tiles(kernel, alpha, a, b, beta, c, of_a, of_c); });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
