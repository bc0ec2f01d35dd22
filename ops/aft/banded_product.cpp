// Products of the rows that lie in one another's bands. 64 rows of a meet all rows of b in their
// bands as one product, of which the bands are kept:
//
//     w w w . . . .      4 rows, a band of 3: y has the w, and the product is
//     . w w w . . .      2 times as large
//     . . w w w . .
//     . . . w w w .

#include <algorithm>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/interval.h"
#include "core/machine/matrix.h"
#include "core/machine/parallel.h"
#include "core/machine/product.h"
#include "core/tape.h"
#include "ops/aft.h"
#include "ops/products.h"
#include "ops/zero_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// A band whose row i has `width` columns from start + i on, as far as there are such columns.
struct Diagonals {
  int64_t rows, columns, start, width;

  Interval of(int64_t i) const {
    int64_t begin = std::clamp<int64_t>(start + i, 0, columns);
    return {begin, std::clamp(start + i + width, begin, columns)};
  }
  Diagonals transposed() const { return {columns, rows, 1 - start - width, width}; }

  /// Calls body(part, columns) for some rows at a time, with the columns that one of them has.
  template <class Body>
  void each(Body body) const {
    constexpr int64_t together = 64;
    parallel_each(divide_up(rows, together), 1, [&](int64_t n) {
      Interval part{n * together, std::min(rows, (n + 1) * together)};
      body(part, Interval{of(part.begin).begin, of(part.end - 1).end});
    });
  }
};

ConstMatrix rows_of(const ConstMatrix& x, Interval rows) {
  return x.rows_from(rows.begin, rows.size());
}

/// y[i, c] = a_i · b_{start + i + c}
void multiply(const Diagonals& band, const ConstMatrix& a, const ConstMatrix& b, const Matrix& y) {
  band.each([&](Interval rows, Interval columns) {
    const MatrixCopy all(rows.size(), columns.size());
    if (columns.size() > 0)
      gemm(1, rows_of(a, rows), rows_of(b, columns).transposed(), 0, all.matrix);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      std::fill_n(&y.at(i, 0), y.columns, Scalar{0});
      for (int64_t j = band.of(i).begin; j < band.of(i).end; ++j)
        y.at(i, j - band.start - i) = all.matrix.at(i - rows.begin, j - columns.begin);
    }
  });
}

/// Adds Σ_j weight(i, j) b_j over the columns of its band to each row i of an open gradient.
void add_products(const Diagonals& band, auto weight, const ConstMatrix& b,
                  const OpenGradient& to) {
  write_gradient(to, [&](const Tensor& target, Scalar beta) {
    if (target.count() == 0) return;
    const Matrix sums = matrix_of(target.mutable_data(), target);
    band.each([&](Interval rows, Interval columns) {
      const MatrixCopy weights(rows.size(), columns.size());
      clear_matrix(weights.matrix);
      for (int64_t i = rows.begin; i < rows.end; ++i)
        for (int64_t j = band.of(i).begin; j < band.of(i).end; ++j)
          weights.matrix.at(i - rows.begin, j - columns.begin) = weight(i, j);
      const Matrix part = sums.rows_from(rows.begin, rows.size());
      weighted_product(1, weights.matrix, rows_of(b, columns), part, [&](const ConstMatrix& right) {
        gemm(1, weights.matrix, right, beta, part);
      });
    });
  });
}

}  // namespace

Tensor banded_product(const Tensor& a, const Tensor& b, int64_t width, int64_t start) {
  require_defined("banded_product", "a", a, "b", b);
  require(a.rank() == 2 && b.rank() == 2 && a.size(1) == b.size(1), "banded_product: ", a.shape(),
          " with ", b.shape(), ", expected [T, r] and [K, r]");
  require(width >= 0, "banded_product: to ", width, " columns, expected at least 0");
  check_band("banded_product", start, 1);
  const Diagonals band{a.size(0), b.size(0), start, width};
  Tensor y = Tensor::empty({a.size(0), width});
  if (y.count() > 0)
    multiply(band, matrix_of(a.data(), a), matrix_of(b.data(), b), matrix_of(y.mutable_data(), y));
  record(y, {&a, &b}, [a, b, band](const Tensor& dy) {
    const ConstMatrix gradient = matrix_of(dy.data(), dy);
    auto weight = [&](int64_t i, int64_t j) { return gradient.at(i, j - band.start - i); };
    add_products(band, weight, matrix_of(b.data(), b), a.open_gradient());
    add_products(
        band.transposed(), [&](int64_t j, int64_t i) { return weight(i, j); },
        matrix_of(a.data(), a), b.open_gradient());
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
