#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/machine/packed_product.h"
#include "core/machine/parallel.h"
#include "tests/support/bounded.h"
#include "tests/support/guarded_matrix.h"
#include "tests/support/in_bfloat16.h"
#include "tests/support/products.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using test::by_hardware_and_software, test::Edge, test::GuardedMatrix;
using test::Gemm, test::parallel_rounded_gemm, test::serial_rounded_gemm;
using test::Operand, test::Order, test::orders, test::result_orders;

namespace {

/// The nearest number of 8 bits of precision, found by comparing the two neighbours.
float nearest_bfloat16(float value) {
  if (!std::isfinite(value)) return value;
  uint32_t below_bits = std::bit_cast<uint32_t>(value) & 0xffff0000u;
  uint32_t above_bits = below_bits + 0x10000u;  // away from 0, perhaps infinite
  auto size = [](uint32_t bits) {
    uint32_t exponent = bits >> 23 & 255, fraction = (bits & 0x7fffffu) | (exponent ? 1u << 23 : 0);
    return std::ldexp(double(fraction), int(std::max(exponent, 1u)) - 150);
  };
  double from_below = std::abs(double(value)) - size(below_bits);
  double from_above = size(above_bits) - std::abs(double(value));
  bool even = (below_bits & 0x10000u) == 0;
  bool down = from_below < from_above || (from_below == from_above && even);
  return std::bit_cast<float>(down ? below_bits : above_bits);
}

template <class Element>
Element& element(const MatrixView<Element>& m, int64_t row, int64_t column) {
  return m.data[row * m.row_stride + column * m.column_stride];
}

/// The elements in rows, rounded.
std::vector<double> rounded_rows(const ConstMatrix& m) {
  std::vector<double> rows;
  for (int64_t row = 0; row < m.rows; ++row)
    for (int64_t column = 0; column < m.columns; ++column)
      rows.push_back(double(nearest_bfloat16(element(m, row, column))));
  return rows;
}

/// Whether c is alpha a b + beta c_before for a and b rounded to bfloat16. A sum of n products, in
/// any order, is within n epsilon Σ |a b| of the true one; three roundings more come from alpha,
/// beta and the sum.
bool is_rounded_product(float alpha, const ConstMatrix& a, const ConstMatrix& b, float beta,
                        const ConstMatrix& c_before, const ConstMatrix& c) {
  std::vector<double> left = rounded_rows(a), right = rounded_rows(b.transposed());
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; ++column) {
      double expected = beta == 0 ? 0 : double(beta) * double(element(c_before, row, column));
      double sizes = std::abs(expected);
      for (int64_t inner = 0; inner < a.columns; ++inner) {
        double product = double(alpha) * left[size_t(row * a.columns + inner)] *
                         right[size_t(column * a.columns + inner)];
        expected += product;
        sizes += std::abs(product);
      }
      double tolerance = double(a.columns + 3) * test::epsilon * sizes;
      bool close = std::abs(double(element(c, row, column)) - expected) <= tolerance;
      if (!close) return false;
    }
  return true;
}

/// Multiplies rounded numbers with a b that is packed for itself.
void packed_rounded(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  InBfloat16 rounding;
  test::serial_packed_gemm(alpha, a, b, beta, c);
}
void parallel_packed_rounded(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  InBfloat16 rounding;
  test::parallel_packed_gemm(alpha, a, b, beta, c);
}

constexpr Gemm serial_ways[] = {serial_rounded_gemm, packed_rounded};
constexpr Gemm all_ways[] = {serial_rounded_gemm, parallel_rounded_gemm, packed_rounded,
                             parallel_packed_rounded};

/// Multiplies, and checks the product and that what lies between c's elements stays as it was.
void check_rounded(Gemm function, float alpha, const GuardedMatrix& a, const GuardedMatrix& b,
                   float beta, GuardedMatrix& c) {
  std::vector<float> before = c.numbers();
  Matrix c_before = c.view;
  c_before.data = before.data();
  function(alpha, a.view, b.view, beta, c.view);
  REQUIRE(is_rounded_product(alpha, a.view, b.view, beta, c_before, c.view));
  for (int64_t row = 0; row < c.view.rows; ++row)
    for (int64_t column = 0; column < c.view.columns; ++column)
      element(c.view, row, column) = element(c_before, row, column);
  REQUIRE(c.numbers() == before);
}

struct ProductSizes {
  int64_t m, k, n;
};

/// The bits of a product in rows.
std::vector<float> product_rows(Gemm function, const GuardedMatrix& a, const GuardedMatrix& b,
                                GuardedMatrix& c, float beta) {
  function(1, a.view, b.view, beta, c.view);
  std::vector<float> rows;
  for (int64_t row = 0; row < c.view.rows; ++row)
    for (int64_t column = 0; column < c.view.columns; ++column)
      rows.push_back(element(c.view, row, column));
  return rows;
}

}  // namespace

TEST_CASE("bfloat16 products: every layout, between pages that nobody may read") {
  by_hardware_and_software([] {
    for (ProductSizes size :
         {ProductSizes{1, 1, 1}, {1, 33, 5}, {5, 3, 1}, {12, 32, 32}, {13, 31, 33}, {25, 70, 40}})
      for (Order a_order : orders)
        for (Order b_order : orders)
          for (Order c_order : result_orders)
            for (Edge edge : {Edge::front, Edge::back}) {
              GuardedMatrix a(size.m, size.k, a_order, 1, edge),
                  b(size.k, size.n, b_order, 2, edge), c(size.m, size.n, c_order, 3, edge);
              CAPTURE(size.m);
              CAPTURE(static_cast<int>(a_order));
              CAPTURE(static_cast<int>(b_order));
              CAPTURE(static_cast<int>(c_order));
              for (Gemm function : serial_ways) check_rounded(function, 0.5f, a, b, -1.5f, c);
            }
  });
}

TEST_CASE("bfloat16 products: sizes around those of a tile") {
  by_hardware_and_software([] {
    for (int64_t m : {1, 2, 11, 12, 13, 25})
      for (int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 65, 97, 128, 129})
        for (int64_t k : {1, 2, 3, 31, 32, 33, 64})
          for (Order order : {Order::rows, Order::columns}) {
            GuardedMatrix a(m, k, order, 1), b(k, n, order, 2), c(m, n, order, 3);
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            for (Gemm function : serial_ways) check_rounded(function, 1, a, b, 0, c);
          }
  });
}

TEST_CASE("bfloat16 products: sums and results longer than a block") {
  by_hardware_and_software([] {
    for (ProductSizes size : {ProductSizes{14, 511, 34},
                              {14, 513, 34},
                              {33, 2049, 40},
                              {260, 64, 64},
                              {64, 65, 300},
                              {1, 1000, 600},
                              {600, 1000, 1}})
      for (Order a_order : {Order::padded_rows, Order::columns})
        for (Order b_order : {Order::rows, Order::padded_columns})
          for (float beta : {0.0f, -1.5f})
            for (Gemm function : all_ways) {
              GuardedMatrix a(size.m, size.k, a_order, 1), b(size.k, size.n, b_order, 2),
                  c(size.m, size.n, Order::padded_rows, 3);
              CAPTURE(size.m);
              CAPTURE(size.k);
              CAPTURE(size.n);
              check_rounded(function, 0.5f, a, b, beta, c);
            }
  });
}

TEST_CASE("bfloat16 products: alpha and beta") {
  by_hardware_and_software([] {
    for (float alpha : {1.0f, -2.0f, 0.0f})
      for (float beta : {0.0f, 1.0f, 0.25f})
        for (Order c_order : result_orders) {
          GuardedMatrix a(13, 5, Order::rows, 1), b(5, 35, Order::rows, 2), c(13, 35, c_order, 3);
          check_rounded(serial_rounded_gemm, alpha, a, b, beta, c);
        }
  });
}

TEST_CASE("bfloat16 products: a beta of 0 does not read the result") {
  by_hardware_and_software([] {
    for (Gemm function : all_ways)
      for (int64_t m : {1, 6, 100})
        for (int64_t n : {1, 7, 100})
          for (int64_t k : {0, 1, 600})
            for (Order c_order : result_orders) {
              GuardedMatrix a(m, k, Order::rows, 1), b(k, n, Order::columns, 2),
                  c(m, n, c_order, 3);
              c.fill(test::not_a_number);
              function(1, a.view, b.view, 0, c.view);
              REQUIRE(is_rounded_product(1, a.view, b.view, 0, c.view, c.view));
            }
  });
}

TEST_CASE("bfloat16 products: an inner size of 0 leaves beta c, an empty result is left alone") {
  by_hardware_and_software([] {
    for (Gemm function : all_ways) {
      GuardedMatrix a(3, 0, Order::rows, 1), b(0, 4, Order::rows, 2),
          c(3, 4, Order::padded_rows, 3);
      check_rounded(function, 1, a, b, 0.5f, c);
      GuardedMatrix none(0, 4, Order::rows, 1), square(4, 4, Order::rows, 2),
          empty(0, 4, Order::rows, 3);
      check_rounded(function, 1, none, square, 1, empty);
    }
  });
}

TEST_CASE("bfloat16 products: what is refused") {
  GuardedMatrix a(3, 4, Order::rows, 1), b(5, 6, Order::rows, 2), c(3, 6, Order::rows, 3);
  GuardedMatrix same(3, 4, Order::equal_rows, 1), square(4, 4, Order::rows, 2);
  for (Gemm function : all_ways) {
    CHECK(refusal([&] { function(1, a.view, b.view, 0, c.view); }) ==
          "gemm: [3, 4] x [5, 6] to [3, 6]: expected [m, k] x [k, n] to [m, n]");
    CHECK(refusal([&] { function(1, a.view, square.view, 0, same.view); }) ==
          "gemm: the result is broadcast: expected strides other than 0");
  }
}

TEST_CASE("bfloat16 products: operands are rounded to nearest, ties to even") {
  by_hardware_and_software([] {
    std::vector<float> values;
    for (uint32_t exponent : {1u, 100u, 127u, 140u, 254u})
      for (uint32_t kept : {0u, 1u, 126u, 127u})
        for (uint32_t rest : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
          for (uint32_t sign : {0u, 1u})
            values.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | kept << 16 | rest));
    values.push_back(0);
    values.push_back(-0.0f);
    values.push_back(test::infinity);
    values.push_back(-test::infinity);
    int64_t count = static_cast<int64_t>(values.size());
    for (Order order : {Order::rows, Order::columns, Order::scattered}) {
      GuardedMatrix one(1, 1, order, 1), line(1, count, order, 2), column(count, 1, order, 2),
          by_row(1, count, order, 3), by_column(count, 1, order, 3);
      one.fill(1);
      for (int64_t n = 0; n < count; ++n)
        element(line.view, 0, n) = element(column.view, n, 0) = values[size_t(n)];
      serial_rounded_gemm(1, one.view, line.view, 0, by_row.view);
      serial_rounded_gemm(1, column.view, one.view, 0, by_column.view);
      for (int64_t n = 0; n < count; ++n) {
        CHECK(element(by_row.view, 0, n) == nearest_bfloat16(values[size_t(n)]));
        CHECK(element(by_column.view, n, 0) == nearest_bfloat16(values[size_t(n)]));
      }
    }
  });
}

TEST_CASE("bfloat16 products: a NaN stays in its row or column, whatever its bits") {
  by_hardware_and_software([] {
    for (uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xff80ffffu, 0x7fffffffu})
      for (Order order : {Order::rows, Order::columns, Order::scattered})
        for (Gemm function : all_ways) {
          GuardedMatrix a(40, 61, order, 1), b(61, 50, order, 2), c(40, 50, Order::rows, 3);
          std::vector<float> clean = product_rows(function, a, b, c, 0);
          // Copied as bits: a float on its way through a register may lose its signal.
          std::memcpy(&element(a.view, 21, 60), &bits, sizeof bits);
          std::memcpy(&element(b.view, 7, 33), &bits, sizeof bits);
          std::vector<float> soiled = product_rows(function, a, b, c, 0);
          for (int64_t row = 0; row < 40; ++row)
            for (int64_t column = 0; column < 50; ++column) {
              size_t n = size_t(row * 50 + column);
              REQUIRE((row == 21 || column == 33 ? std::isnan(soiled[n]) : soiled[n] == clean[n]));
            }
        }
  });
}

TEST_CASE("bfloat16 products: infinities add up as floats do") {
  by_hardware_and_software([] {
    GuardedMatrix a(13, 3, Order::rows, 1), b(3, 33, Order::rows, 2), c(13, 33, Order::rows, 3);
    a.fill(1);
    b.fill(1);
    element(a.view, 0, 1) = test::infinity;
    element(a.view, 12, 0) = -test::infinity;
    element(a.view, 12, 2) = test::infinity;
    element(b.view, 1, 32) = 0;
    serial_rounded_gemm(1, a.view, b.view, 0, c.view);
    CHECK(element(c.view, 0, 0) == test::infinity);
    CHECK(std::isnan(element(c.view, 0, 32)));  // ∞ times 0
    CHECK(std::isnan(element(c.view, 12, 0)));  // ∞ - ∞
    CHECK(element(c.view, 1, 0) == 3);
  });
}

TEST_CASE("bfloat16 products: the same bits with any number of threads") {
  by_hardware_and_software([] {
    for (auto [m, k, n] : {ProductSizes{377, 128, 130},
                           {130, 128, 377},
                           {96, 1101, 100},
                           {33, 1001, 40},
                           {1, 512, 2100}}) {
      GuardedMatrix a(m, k, Order::rows, 1), b(k, n, Order::columns, 2), c(m, n, Order::rows, 3);
      std::vector<float> start = c.numbers(), serial;
      for (int threads : {1, 2, 4}) {
        c.set(start);
        with_threads(threads, [&] { parallel_rounded_gemm(1, a.view, b.view, 1, c.view); });
        if (threads == 1) serial = c.numbers();
        CHECK(c.numbers() == serial);
        c.set(start);
        with_threads(threads, [&] { parallel_packed_rounded(1, a.view, b.view, 1, c.view); });
        CHECK(c.numbers() == serial);
      }
    }
  });
}

namespace {

void check_same_bits_in_any_product() {
  constexpr int64_t m = 130, k = 1101, n = 200;
  GuardedMatrix a(m, k, Order::rows, 1), b(k, n, Order::rows, 2), c(m, n, Order::rows, 3);
  std::vector<float> start = c.numbers();
  std::vector<float> whole = product_rows(parallel_rounded_gemm, a, b, c, 1);
  for (Order order : {Order::columns, Order::scattered}) {
    GuardedMatrix other_a(m, k, order, 1), other_b(k, n, order, 2), other_c(m, n, order, 3);
    auto copy = [](const Matrix& from, const Matrix& to) {
      for (int64_t row = 0; row < from.rows; ++row)
        for (int64_t column = 0; column < from.columns; ++column)
          element(to, row, column) = element(from, row, column);
    };
    c.set(start);
    copy(a.view, other_a.view);
    copy(b.view, other_b.view);
    copy(c.view, other_c.view);
    CHECK(product_rows(serial_rounded_gemm, other_a, other_b, other_c, 1) == whole);
  }
  for (Gemm function : all_ways) {
    c.set(start);
    CHECK(product_rows(function, a, b, c, 1) == whole);
  }
  c.set(start);
  for (int64_t row = 0; row < m; ++row)
    packed_rounded(1, a.view.rows_from(row, 1), b.view, 1, c.view.rows_from(row, 1));
  CHECK(c.numbers() == whole);
  c.set(start);
  for (int64_t row = 0; row < m; row += 7)
    for (int64_t column = 0; column < n; column += 45) {
      int64_t rows = std::min<int64_t>(7, m - row), columns = std::min<int64_t>(45, n - column);
      serial_rounded_gemm(1, a.view.rows_from(row, rows), b.view.columns_from(column, columns), 1,
                          c.view.block(row, rows, column, columns));
    }
  CHECK(c.numbers() == whole);
}

}  // namespace

TEST_CASE("bfloat16 products: an element has the same bits in any product") {
  by_hardware_and_software(check_same_bits_in_any_product);
}
