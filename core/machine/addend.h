#pragma once

#include "core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What is added to a product: beta c or, if there is a `row`, beta times that to each row of c.
struct Addend {
  /// The factor of c or of the row. One of 0 never reads c.
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
  Scalar put_into(const Matrix& c) const {
    if (row) copy_matrix(in(c), c);
    return beta;
  }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
