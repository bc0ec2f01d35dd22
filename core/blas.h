#pragma once

// c = alpha a b + beta c, for matrices given by strides. A transposed matrix is one with its
// strides swapped; it costs nothing.

#include <cstdint>
#include <type_traits>

#include "core/scalar.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// A matrix in someone else's memory: element (r, c) lies at data[r row_stride + c column_stride].
template <class Element>
struct MatrixView {
  Element* data;
  int64_t rows;
  int64_t columns;
  int64_t row_stride;
  int64_t column_stride;

  /// Rows follow one another without a gap.
  static MatrixView row_major(Element* data, int64_t rows, int64_t columns) {
    return {data, rows, columns, columns, 1};
  }

  MatrixView transposed() const { return {data, columns, rows, column_stride, row_stride}; }

  MatrixView block(int64_t first_row, int64_t row_count, int64_t first_column,
                   int64_t column_count) const {
    return {data + first_row * row_stride + first_column * column_stride, row_count, column_count,
            row_stride, column_stride};
  }
  MatrixView rows_from(int64_t first, int64_t count) const {
    return block(first, count, 0, columns);
  }
  MatrixView columns_from(int64_t first, int64_t count) const {
    return block(0, rows, first, count);
  }

  operator MatrixView<const Element>() const requires(!std::is_const_v<Element>) {
    return {data, rows, columns, row_stride, column_stride};
  }
};

using Matrix = MatrixView<Scalar>;
using ConstMatrix = MatrixView<const Scalar>;

/// c = alpha a b + beta c on the calling thread, where a is [m, k], b is [k, n] and c is [m, n].
/// A beta of 0 never reads c, and with k = 0 the product is zero. Strides are free: a transposed
/// matrix is passed to BLAS as such, one that BLAS cannot express (no stride of 1, broadcast by a
/// stride of 0) is packed first. c's elements must not overlap each other, a or b. An Error if the
/// sizes do not fit together, or one is beyond BLAS' 32-bit integers.
/// (PyTorch: torch.addmm; BLAS: sgemm, dgemm)
void gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c);

/// How many multiplications are worth a thread: about 10 microseconds of one, where cutting the
/// work up costs one of them.
inline constexpr double worthwhile_products = 4e5;

/// The same on all threads: c is cut into tiles, whose borders depend on its sizes only.
void parallel_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c);

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
