#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/machine/parallel.h"
#include "core/machine/product.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/in_bfloat16.h"
#include "tests/support/products.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("MatrixView: parts and transposes") {
  std::vector<Scalar> memory = {0, 1, 2, 3, 4, 5};
  auto m = Matrix::row_major(memory.data(), 2, 3);
  CHECK(at(m, 1, 2) == 5);
  CHECK(at(m.transposed(), 2, 1) == 5);
  CHECK(m.transposed().rows == 3);
  CHECK(at(m.rows_from(1, 1), 0, 0) == 3);
  CHECK(m.rows_from(1, 1).columns == 3);
  CHECK(at(m.columns_from(1, 2), 1, 1) == 5);
  CHECK(m.columns_from(1, 2).rows == 2);
  CHECK(at(m.block(1, 1, 1, 2), 0, 1) == 5);
}

TEST_CASE("gemm: every order of the operands in memory") {
  for (int64_t m : {1, 2, 5, 17})
    for (int64_t n : {1, 2, 5, 17})
      for (int64_t k : {1, 3, 16})
        for (Order a_order : orders)
          for (Order b_order : orders)
            for (Order c_order : result_orders) {
              Operand a(m, k, a_order, 1), b(k, n, b_order, 2), c(m, n, c_order, 3);
              CAPTURE(m);
              CAPTURE(n);
              CAPTURE(k);
              CAPTURE(static_cast<int>(a_order));
              CAPTURE(static_cast<int>(b_order));
              CAPTURE(static_cast<int>(c_order));
              check_gemm(serial_gemm, Scalar(0.5), a, b, Scalar(-1.5), c);
            }
}

TEST_CASE("gemm: alpha and beta") {
  for (int64_t m : {1, 6})
    for (int64_t n : {1, 7})
      for (Scalar alpha : {Scalar(1), Scalar(-2), Scalar(0)})
        for (Scalar beta : {Scalar(0), Scalar(1), Scalar(0.25)})
          for (Order c_order : result_orders) {
            Operand a(m, 5, Order::rows, 1), b(5, n, Order::rows, 2), c(m, n, c_order, 3);
            check_gemm(serial_gemm, alpha, a, b, beta, c);
          }
}

TEST_CASE("gemm: a beta of 0 does not read the result") {
  for (Gemm function : {serial_gemm, parallel_gemm})
    for (int64_t m : {1, 6, 300})
      for (int64_t n : {1, 7, 300})
        for (int64_t k : {0, 1, 40})
          for (Order c_order : result_orders) {
            Operand a(m, k, Order::rows, 1), b(k, n, Order::columns, 2), c(m, n, c_order, 3);
            std::fill(c.memory.begin(), c.memory.end(), not_a_number);
            function(1, a.view, b.view, 0, c.view);
            REQUIRE(is_product(1, a.view, b.view, 0, c.view, c.view));
          }
}

TEST_CASE("gemm: an inner size of 0 leaves beta c, an empty result is left alone") {
  Operand a(3, 0, Order::rows, 1), b(0, 4, Order::rows, 2), c(3, 4, Order::padded_rows, 3);
  check_gemm(serial_gemm, 1, a, b, Scalar(0.5), c);
  check_gemm(parallel_gemm, 1, a, b, 1, c);

  Operand none(0, 4, Order::rows, 1), square(4, 4, Order::rows, 2), empty(0, 4, Order::rows, 3);
  check_gemm(serial_gemm, 1, none, square, 1, empty);
  check_gemm(parallel_gemm, 1, none, square, 1, empty);
}

TEST_CASE("gemm: a row is added with the bits of one that stands in every row of the result") {
  struct Sizes {
    int64_t m, k, n;
  };
  using Function = void (*)(Scalar, ConstMatrix, ConstMatrix, Addend, Matrix, Threads);
  constexpr Function in_floats = [](auto... x) { gemm(x..., Precision::float32); };
  constexpr Function rounded = [](auto... x) { gemm(x..., Precision::bfloat16); };
  constexpr Function by_panels = [](Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added,
                                    Matrix c, Threads threads) {
    if (a.columns > 0)
      panel_product(panel_kernel(Precision::float32), alpha, a, b, added, c, threads);
    else
      gemm(alpha, a, b, added, c, threads);
  };
  constexpr std::array functions = {in_floats, rounded, by_panels};
  auto check = [&] {
    for (auto [m, k, n] : {Sizes{1, 40, 270},
                           {1, 300, 70},
                           {7, 20, 33},
                           {3, 0, 5},
                           {49, 520, 70},
                           {130, 90, 100},
                           {40, 30, 1},
                           {20, 400, 20},
                           {70, 30, 300}})
      for (Order order : result_orders)
        for (Scalar beta : {Scalar(0), Scalar(1), Scalar(-1.5)})
          for (Threads threads : {Threads::one, Threads::all})
            for (size_t n_function = 0; n_function < functions.size(); ++n_function) {
              CAPTURE(m);
              CAPTURE(n);
              CAPTURE(n_function);
              Operand a(m, k, Order::rows, 1), b(k, n, Order::columns, 2);
              Operand row(1, n, Order::rows, 3), c(m, n, order, 4), filled(m, n, order, 4);
              if (beta != 0) copy_matrix({row.memory.data(), m, n, 0, 1}, filled.view);
              const auto function = functions[n_function];
              function(Scalar(0.5), a.view, b.view, beta, filled.view, threads);
              function(Scalar(0.5), a.view, b.view, {beta, row.memory.data()}, c.view, threads);
              REQUIRE(c.memory == filled.memory);
            }
  };
  on_every_instruction_set([&] { by_hardware_and_software(check); });
}

TEST_CASE("gemm: what is refused") {
  Operand a(3, 4, Order::rows, 1), b(5, 6, Order::rows, 2), c(3, 6, Order::rows, 3);
  for (Gemm function : {serial_gemm, parallel_gemm})
    CHECK(refusal([&] { function(1, a.view, b.view, 0, c.view); }) ==
          "gemm: [3, 4] x [5, 6] to [3, 6]: expected [m, k] x [k, n] to [m, n]");

  Operand same(3, 4, Order::equal_rows, 1), square(4, 4, Order::rows, 2);
  CHECK(refusal([&] { gemm(1, a.view, square.view, 0, same.view); }) ==
        "gemm: the result is broadcast: expected strides other than 0");
}

TEST_CASE(
    "parallel_gemm: tall, wide and small results, and long sums, in every order of the operands") {
  struct Sizes {
    int64_t m, k, n;
  };
  for (auto [m, k, n] : {Sizes{260, 64, 64},
                         {64, 64, 260},
                         {33, 1001, 40},
                         {1, 1000, 1100},
                         {1100, 1000, 1},
                         {3, 4, 5}})
    for (Order a_order : {Order::rows, Order::columns, Order::scattered}) {
      Operand a(m, k, a_order, 1);
      for (Order b_order : {Order::rows, Order::columns, Order::scattered}) {
        Operand b(k, n, b_order, 2);
        for (Order c_order : {Order::rows, Order::columns, Order::scattered}) {
          Operand c(m, n, c_order, 3);
          check_gemm(parallel_gemm, Scalar(0.5), a, b, 1, c);
        }
      }
    }
}

TEST_CASE("gemm: beyond what one call of BLAS multiplies in place, by little and by much") {
  struct Sizes {
    int64_t m, k, n;
  };
  for (auto [m, k, n] : {Sizes{60, 256, 64}, {61, 257, 65}, {130, 260, 70}, {16, 600, 130}})
    for (Order a_order : {Order::rows, Order::padded_columns}) {
      Operand a(m, k, a_order, 1);
      for (Order b_order : {Order::padded_rows, Order::padded_columns}) {
        Operand b(k, n, b_order, 2);
        for (Order c_order : {Order::padded_rows, Order::columns})
          for (Scalar beta : {Scalar(0), Scalar(-1.5)}) {
            Operand c(m, n, c_order, 3);
            if (beta == 0) std::fill(c.memory.begin(), c.memory.end(), Scalar(1e30));
            check_gemm(serial_gemm, Scalar(0.5), a, b, beta, c);
            check_gemm(parallel_gemm, Scalar(0.5), a, b, beta, c);
          }
      }
    }
}

TEST_CASE("parallel_gemm: the same bits with any number of threads") {
  struct Sizes {
    int64_t m, k, n;
  };
  for (auto [m, k, n] : {Sizes{777, 128, 130},
                         {130, 128, 777},
                         {384, 768, 128},
                         {33, 1001, 40},
                         {1, 512, 2100},
                         {4, 384, 700},
                         {8, 2000, 1000}}) {
    Operand a(m, k, Order::rows, 1), b(k, n, Order::columns, 2), c(m, n, Order::rows, 3);
    std::vector<Scalar> start = c.memory, serial;
    for (int threads : {1, 2, 4}) {
      c.memory = start;
      c.view.data = c.memory.data();
      with_threads(threads, [&] { parallel_gemm(1, a.view, b.view, 1, c.view); });
      if (threads == 1) serial = c.memory;
      CHECK(c.memory == serial);
    }
  }
}

TEST_CASE("gemm: a NaN stays in its row") {
  for (Gemm function : {serial_gemm, parallel_gemm}) {
    Operand a(400, 60, Order::rows, 1), b(60, 50, Order::rows, 2), clean(400, 50, Order::rows, 3),
        soiled(400, 50, Order::rows, 3);
    function(1, a.view, b.view, 0, clean.view);
    at(a.view, 201, 7) = not_a_number;
    function(1, a.view, b.view, 0, soiled.view);
    for (int64_t row = 0; row < 400; ++row)
      for (int64_t column = 0; column < 50; ++column) {
        Scalar value = at(soiled.view, row, column);
        REQUIRE((row == 201 ? std::isnan(value) : value == at(clean.view, row, column)));
      }
  }
}
