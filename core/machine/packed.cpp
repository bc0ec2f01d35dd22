#include "core/machine/packed.h"

#include <limits>

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// A length that is not cut.
Cut uncut(int64_t length) { return {length, 1, std::numeric_limits<int64_t>::max()}; }

/// The blocks of depths that a kernel adds up in one go.
Cut depths_of(const PanelKernel& kernel, int64_t depth) {
  return {depth, kernel.numbers * kernel.depth_step, kernel.blocks.depth / kernel.depth_step};
}

/// The distance between the rows or columns of a packed left factor of this length: whole lines.
int64_t left_step(int64_t length) { return divide_up(length, 16) * 16; }

/// A left factor whose elements lie in rows or columns.
Factor left_factor(const ConstMatrix& a, const PanelKernel& kernel, const ConstMatrix& elements) {
  return {a, &kernel, elements, kernel.tile_rows * elements.row_stride};
}

}  // namespace

Factor Factor::transposed() const {
  if (!kernel) return {matrix.transposed()};
  return left_factor(matrix.transposed(), *kernel, elements.transposed());
}

Factor Factor::block(int64_t first_row, int64_t row_count, int64_t first_column,
                     int64_t column_count) const {
  Factor part{matrix.block(first_row, row_count, first_column, column_count)};
  if (!kernel) return part;
  part.kernel = kernel;
  part.elements = elements;
  part.elements.data += first_column / kernel->tile_columns * panel_step +
                        first_row / kernel->numbers * elements.row_stride;
  part.panel_step = panel_step;
  return part;
}

bool packs_serve_transposed() {
  const PanelKernel& kernel = panel_kernel();
  return kernel.numbers == 1 && kernel.left_panels != LeftPanels::in_rows;
}

int64_t left_panel_count(int64_t rows, int64_t columns) {
  const PanelKernel& kernel = panel_kernel();
  if (!kernel.convert) return 0;
  // A kernel reads whole tiles of rows.
  auto in_either_order = [&](int64_t its_rows, int64_t its_columns) {
    const int64_t depth = divide_up(its_columns, kernel.numbers);
    return std::max((its_rows + kernel.tile_rows) * left_step(depth),
                    left_step(its_rows) * depth + kernel.tile_rows);
  };
  return std::max(in_either_order(rows, columns), in_either_order(columns, rows));
}

int64_t right_panel_count(int64_t rows, int64_t columns) {
  const PanelKernel& kernel = panel_kernel();
  return divide_up(columns, kernel.tile_columns) * kernel.tile_columns *
         divide_up(rows, kernel.numbers);
}

Factor pack_left(const ConstMatrix& a, Scalar* panels) {
  return pack_left_part(a, panels, 0, a.rows, 0, a.columns);
}

Factor pack_left_part(const ConstMatrix& a, Scalar* panels, int64_t first_row, int64_t row_count,
                      int64_t first_column, int64_t column_count) {
  const PanelKernel& kernel = panel_kernel();
  if (!kernel.convert) return left_factor(a, kernel, a);
  const int64_t depth = divide_up(a.columns, kernel.numbers);
  Matrix elements = {panels, a.rows, depth, left_step(depth), 1};
  if (has_dense_columns(a) && kernel.left_panels != LeftPanels::in_rows)
    elements = {panels, a.rows, depth, 1, left_step(a.rows)};
  kernel.convert(a.block(first_row, row_count, first_column, column_count),
                 &elements.at(first_row, first_column / kernel.numbers),
                 std::max(elements.row_stride, elements.column_stride));
  return left_factor(a, kernel, elements);
}

Factor pack_right(const ConstMatrix& b, Scalar* panels) {
  const PanelKernel& kernel = panel_kernel();
  if (kernel.takes_in_place(b)) return {b, &kernel, b, kernel.tile_columns};
  kernel.pack_right(b, panels);
  const int64_t depth = divide_up(b.rows, kernel.numbers);
  return {
      b, &kernel, {panels, depth, b.columns, kernel.tile_columns, 1}, depth * kernel.tile_columns};
}

Packed::Packed(const PanelKernel* kernel, const ConstMatrix& matrix, Side side, Order order,
               const Cut& pieces, const Cut& depths)
    : kernel_(kernel),
      matrix_(matrix),
      side_(side),
      order_(order),
      pieces_(pieces),
      depths_(depths) {
  if (!kernel) return;
  const bool is_left = side == Side::left;
  const int64_t tile = is_left ? kernel->tile_rows : kernel->tile_columns;
  width_ = is_left ? tile : kernel->panel_width();
  columns_in_element_ = tile / width_;
  padded_ = divide_up(pieces.length, tile) * width_;
  deep_ = divide_up(depths.size, kernel->numbers);
  last_deep_ = divide_up(depths.extent(std::max<int64_t>(depths.count - 1, 0)), kernel->numbers);
  if (order != Order::in_place)
    elements_ = Buffer(padded_ * divide_up(depths.length, kernel->numbers));
}

Packed Packed::left(const PanelKernel& kernel, const ConstMatrix& a, const Cut& rows) {
  return {&kernel, a, Side::left, left_order(kernel, a), rows, depths_of(kernel, a.columns)};
}

Packed Packed::right(const PanelKernel& kernel, const ConstMatrix& b, bool may_stay) {
  const bool stays =
      may_stay && kernel.takes_in_place(b) && b.row_stride <= kernel.blocks.rows_in_place;
  const Cut columns(b.columns, kernel.tile_columns, kernel.blocks.column_panels);
  return {&kernel,     b,
          Side::right, stays ? Order::in_place : Order::panels,
          columns,     depths_of(kernel, b.rows)};
}

Packed::Packed(const ConstMatrix& b, bool packs)
    : Packed(packs ? &panel_kernel() : nullptr, b, Side::right,
             packs && !panel_kernel().takes_in_place(b) ? Order::panels : Order::in_place,
             uncut(b.columns), uncut(b.rows)) {
  pack(Threads::one);
}

Packed::Order Packed::left_order(const PanelKernel& kernel, const ConstMatrix& a) {
  const bool is_near = a.row_stride == 1 && a.column_stride <= kernel.blocks.columns_in_place;
  if (!kernel.convert && (a.column_stride == 1 || is_near)) return Order::in_place;
  if (kernel.left_panels == LeftPanels::by_depth) return Order::panels;
  const bool in_columns = kernel.left_panels == LeftPanels::as_it_lies && has_dense_columns(a);
  return in_columns ? Order::columns : Order::rows;
}

ConstMatrix Packed::part(int64_t first, int64_t count, int64_t depth_block) const {
  const int64_t begin = depths_.begin(depth_block), depth = depths_.extent(depth_block);
  return side_ == Side::left ? matrix_.block(first, count, begin, depth)
                             : matrix_.block(begin, depth, first, count);
}

void Packed::pack(Threads threads) const {
  const int64_t tile = width_ * columns_in_element_, blocks = pieces_.count * depths_.count;
  if (order_ == Order::in_place || blocks == 0) return;
  constexpr int64_t enough_tasks = 32;
  const Cut strips(pieces_.size, tile, divide_up(pieces_.size * blocks, tile * enough_tasks));
  for_each_task(threads, blocks * strips.count, [&](int64_t task) {
    const int64_t block = task / strips.count, strip = strips.begin(task % strips.count);
    const int64_t n = block % pieces_.count, depth_block = block / pieces_.count;
    const int64_t count = std::min(strips.size, pieces_.extent(n) - strip);
    if (count <= 0) return;  // the last piece has fewer strips
    const ConstMatrix numbers = part(pieces_.begin(n) + strip, count, depth_block);
    Scalar* to = at(n, depth_block);
    if (order_ == Order::columns) return kernel_->convert(numbers, to + strip, pieces_.extent(n));
    to += strip / columns_in_element_ * deep(depth_block);
    if (order_ == Order::rows) return kernel_->convert(numbers, to, deep(depth_block));
    if (side_ == Side::right) return kernel_->pack_right(numbers, to);
    kernel_->pack_left(numbers.transposed(), to);
  });
}

Factor Packed::piece(int64_t n, int64_t depth_block) const {
  const ConstMatrix numbers = part(pieces_.begin(n), pieces_.extent(n), depth_block);
  if (!kernel_) return {numbers};
  if (order_ == Order::in_place)
    return {numbers, kernel_, numbers, width_ * (side_ == Side::left ? numbers.row_stride : 1)};
  const int64_t depth = deep(depth_block);
  Scalar* first = at(n, depth_block);
  if (side_ == Side::right)
    return {numbers, kernel_, {first, depth, numbers.columns, width_, 1}, width_ * depth};
  switch (order_) {
    case Order::panels:
      return {numbers, kernel_, {first, numbers.rows, depth, 1, width_}, width_ * depth};
    case Order::columns:
      return {numbers, kernel_, {first, numbers.rows, depth, 1, numbers.rows}, width_};
    default:
      return {numbers, kernel_, {first, numbers.rows, depth, depth, 1}, width_ * depth};
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
