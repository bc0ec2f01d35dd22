#pragma once

// Matrices given by strides, and what kernels do with them beside multiplying.

#include <cstdint>
#include <type_traits>

#include "core/machine/allocator.h"
#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Uninitialised Scalars, 64-byte aligned: what a kernel works in.
using Buffer = CachedArray<Scalar>;

/// A matrix in someone else's memory: element (r, c) lies at data[r row_stride + c column_stride].
template <class Element>
struct MatrixView {
  /// The element (0, 0).
  Element* data;
  /// The number of rows.
  int64_t rows;
  /// The number of columns.
  int64_t columns;
  /// The elements from a row to the next.
  int64_t row_stride;
  /// The elements from a column to the next.
  int64_t column_stride;

  /// Returns a matrix whose rows follow one another without a gap.
  static MatrixView row_major(Element* data, int64_t rows, int64_t columns) {
    return {data, rows, columns, columns, 1};
  }

  /// The element at this row and column.
  Element& at(int64_t row, int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }

  /// Returns the matrix with rows and columns exchanged.
  MatrixView transposed() const { return {data, columns, rows, column_stride, row_stride}; }

  /// The part of these rows and columns.
  MatrixView block(int64_t first_row, int64_t row_count, int64_t first_column,
                   int64_t column_count) const {
    return {data + first_row * row_stride + first_column * column_stride, row_count, column_count,
            row_stride, column_stride};
  }
  /// The part of `count` rows.
  MatrixView rows_from(int64_t first, int64_t count) const {
    return block(first, count, 0, columns);
  }
  /// The part of `count` columns.
  MatrixView columns_from(int64_t first, int64_t count) const {
    return block(0, rows, first, count);
  }

  /// Returns the matrix for reading only.
  operator MatrixView<const Element>() const requires(!std::is_const_v<Element>) {
    return {data, rows, columns, row_stride, column_stride};
  }
};

/// Whether the elements of a column follow one another, and those of a row do not.
template <class Element>
bool has_dense_columns(const MatrixView<Element>& m) {
  return m.row_stride == 1 && m.column_stride != 1;
}

/// A matrix of Scalars.
using Matrix = MatrixView<Scalar>;
/// A matrix of Scalars that is only read.
using ConstMatrix = MatrixView<const Scalar>;

/// y = x
void copy_matrix(const ConstMatrix& x, const Matrix& y);

/// A matrix in memory of its own, row-major unless `matrix` is transposed.
struct MatrixCopy {
  /// The memory.
  Buffer elements;
  /// The matrix in it.
  Matrix matrix;

  /// Leaves the elements uninitialised.
  MatrixCopy(int64_t rows, int64_t columns)
      : elements(rows * columns), matrix(Matrix::row_major(elements.data(), rows, columns)) {}
  /// Copies the elements.
  explicit MatrixCopy(const ConstMatrix& from) : MatrixCopy(from.rows, from.columns) {
    copy_matrix(from, matrix);
  }
};

/// y += x
void add_matrix(const ConstMatrix& x, const Matrix& y);
/// y = alpha x + beta y for numbers that lie a step apart; a beta of 0 never reads y.
void add_run(Scalar alpha, const Scalar* x, int64_t x_step, Scalar beta, Scalar* y, int64_t y_step,
             int64_t length);
/// Whether no element is a NaN or infinite.
bool is_finite(const ConstMatrix& x);

// These are for matrices whose rows are dense.

/// x = 0
void clear_matrix(const Matrix& x);
/// Zeroes one row of x before column `begin` and from column `end` on.
void clear_outside(const Matrix& x, int64_t row, int64_t begin, int64_t end);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
