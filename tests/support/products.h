#pragma once

// Matrices that lie in memory in all ways, and a check of a product of two.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/machine/blas.h"
#include "core/machine/packed_product.h"
#include "core/random.h"
#include "tests/support/bounded.h"

namespace shiftgrad::test {

/// How a matrix lies in memory.
enum class Order {
  rows,
  columns,
  padded_rows,
  padded_columns,
  scattered,
  equal_rows,
  equal_columns
};
inline constexpr auto orders = {Order::rows,           Order::columns,   Order::padded_rows,
                                Order::padded_columns, Order::scattered, Order::equal_rows,
                                Order::equal_columns};
inline constexpr auto result_orders = {Order::rows, Order::columns, Order::padded_rows,
                                       Order::padded_columns, Order::scattered};

/// A matrix of random numbers with its memory.
struct Operand {
  std::vector<Scalar> memory;
  Matrix view;

  Operand(int64_t rows, int64_t columns, Order order, uint64_t seed) {
    auto [row_stride, column_stride] = strides(rows, columns, order);
    memory.resize(static_cast<size_t>(rows * row_stride + columns * column_stride + 1));
    Random random{seed};
    for (Scalar& value : memory) value = static_cast<Scalar>(2 * random.uniform() - 1);
    view = {memory.data(), rows, columns, row_stride, column_stride};
  }
  // The view points into the memory.
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  static std::pair<int64_t, int64_t> strides(int64_t rows, int64_t columns, Order order) {
    switch (order) {
      case Order::rows:
        return {columns, 1};
      case Order::columns:
        return {1, rows};
      case Order::padded_rows:
        return {columns + 3, 1};
      case Order::padded_columns:
        return {1, rows + 3};
      case Order::scattered:
        return {2 * columns + 1, 2};
      case Order::equal_rows:
        return {0, 1};
      case Order::equal_columns:
        return {1, 0};
    }
    return {};
  }
};

template <class Element>
Element& at(const MatrixView<Element>& m, int64_t row, int64_t column) {
  return m.data[row * m.row_stride + column * m.column_stride];
}

/// Whether c is alpha a b + beta c_before. A sum of n products, in any order, is within
/// n epsilon Σ |a b| of the true one; three roundings more come from alpha, beta and the sum.
inline bool is_product(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Scalar beta,
                       const ConstMatrix& c_before, const ConstMatrix& c) {
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; ++column) {
      double expected = beta == 0 ? 0 : double(beta) * double(at(c_before, row, column));
      double sizes = std::abs(expected);
      for (int64_t inner = 0; inner < a.columns; ++inner) {
        double product = double(alpha) * double(at(a, row, inner)) * double(at(b, inner, column));
        expected += product;
        sizes += std::abs(product);
      }
      double tolerance = double(a.columns + 3) * double(epsilon) * sizes;
      bool close = std::abs(double(at(c, row, column)) - expected) <= tolerance;
      if (!close) return false;
    }
  return true;
}

using Gemm = void (*)(Scalar, ConstMatrix, ConstMatrix, Scalar, Matrix);

/// Such a product on one thread or on all.
template <Threads threads>
void gemm_on(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  gemm(alpha, a, b, beta, c, threads);
}
inline constexpr Gemm serial_gemm = gemm_on<Threads::one>;
inline constexpr Gemm parallel_gemm = gemm_on<Threads::all>;

/// Such a product of rounded numbers.
template <Threads threads>
void rounded_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  gemm(alpha, a, b, beta, c, threads, Precision::bfloat16);
}
inline constexpr Gemm serial_rounded_gemm = rounded_gemm<Threads::one>;
inline constexpr Gemm parallel_rounded_gemm = rounded_gemm<Threads::all>;

/// Such a product with a b that is packed for itself.
template <Threads threads>
void packed_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  const Packed packed = Packed::right(weights_kernel(), b, false);
  packed.pack(Threads::all);
  gemm(alpha, a, packed, beta, c, threads);
}
inline constexpr Gemm serial_packed_gemm = packed_gemm<Threads::one>;
inline constexpr Gemm parallel_packed_gemm = packed_gemm<Threads::all>;

/// Such a product by panels of floats, which BLAS would make on many CPUs, for sizes above 0.
template <Threads threads>
void panel_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  if (!multiply_thin(alpha, a, b, beta, c))
    panel_product(panel_kernel(Precision::float32), alpha, a, b, beta, c, threads);
}
inline constexpr Gemm serial_panel_gemm = panel_gemm<Threads::one>;
inline constexpr Gemm parallel_panel_gemm = panel_gemm<Threads::all>;

/// Multiplies, and checks the product and that what lies between c's elements stays as it was.
inline void check_gemm(Gemm function, Scalar alpha, const Operand& a, const Operand& b, Scalar beta,
                       Operand& c) {
  std::vector<Scalar> before = c.memory;
  Matrix c_before = c.view;
  c_before.data = before.data();
  function(alpha, a.view, b.view, beta, c.view);
  REQUIRE(is_product(alpha, a.view, b.view, beta, c_before, c.view));
  for (int64_t row = 0; row < c.view.rows; ++row)
    for (int64_t column = 0; column < c.view.columns; ++column)
      at(c.view, row, column) = at(c_before, row, column);
  REQUIRE(c.memory == before);
}

}  // namespace shiftgrad::test
