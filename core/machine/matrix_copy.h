#pragma once

#include <functional>

#include "core/machine/buffer.h"
#include "core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A matrix in memory of its own, row-major unless somebody turns the view.
struct MatrixCopy {
  Buffer elements;
  Matrix matrix;

  /// Leaves the elements uninitialised.
  MatrixCopy(int64_t rows, int64_t columns)
      : elements(rows * columns), matrix(Matrix::row_major(elements.data(), rows, columns)) {}
  /// Copies `change` of each element.
  explicit MatrixCopy(const ConstMatrix& from, auto change) : MatrixCopy(from.rows, from.columns) {
    Scalar* to = elements.data();
    for (int64_t row = 0; row < from.rows; ++row)
      for (int64_t column = 0; column < from.columns; ++column)
        *to++ = change(from.at(row, column));
  }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
