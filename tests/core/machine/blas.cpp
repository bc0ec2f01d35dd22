#include "shiftgrad/core/machine/blas.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "shiftgrad/core/machine/openblas.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/random.h"
#include "tests/support/bounded.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;

namespace {

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
constexpr auto orders = {Order::rows,           Order::columns,   Order::padded_rows,
                         Order::padded_columns, Order::scattered, Order::equal_rows,
                         Order::equal_columns};
constexpr auto result_orders = {Order::rows, Order::columns, Order::padded_rows,
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
bool is_product(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Scalar beta,
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

/// Multiplies, and checks the product and that what lies between c's elements stays as it was.
void check_gemm(Gemm function, Scalar alpha, const Operand& a, const Operand& b, Scalar beta,
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

}  // namespace

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
              check_gemm(gemm, Scalar(0.5), a, b, Scalar(-1.5), c);
            }
}

TEST_CASE("gemm: alpha and beta") {
  for (int64_t m : {1, 6})
    for (int64_t n : {1, 7})
      for (Scalar alpha : {Scalar(1), Scalar(-2), Scalar(0)})
        for (Scalar beta : {Scalar(0), Scalar(1), Scalar(0.25)})
          for (Order c_order : result_orders) {
            Operand a(m, 5, Order::rows, 1), b(5, n, Order::rows, 2), c(m, n, c_order, 3);
            check_gemm(gemm, alpha, a, b, beta, c);
          }
}

TEST_CASE("gemm: a beta of 0 does not read the result") {
  for (Gemm function : {gemm, parallel_gemm})
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
  check_gemm(gemm, 1, a, b, Scalar(0.5), c);
  check_gemm(parallel_gemm, 1, a, b, 1, c);

  Operand none(0, 4, Order::rows, 1), square(4, 4, Order::rows, 2), empty(0, 4, Order::rows, 3);
  check_gemm(gemm, 1, none, square, 1, empty);
  check_gemm(parallel_gemm, 1, none, square, 1, empty);
}

TEST_CASE("gemm: what is refused") {
  Operand a(3, 4, Order::rows, 1), b(5, 6, Order::rows, 2), c(3, 6, Order::rows, 3);
  for (Gemm function : {gemm, parallel_gemm})
    CHECK(refusal([&] { function(1, a.view, b.view, 0, c.view); }) ==
          "gemm: [3, 4] x [5, 6] to [3, 6]: expected [m, k] x [k, n] to [m, n]");

  Operand same(3, 4, Order::equal_rows, 1), square(4, 4, Order::rows, 2);
  CHECK(refusal([&] { gemm(1, a.view, square.view, 0, same.view); }) ==
        "gemm: the result is broadcast: expected strides other than 0");

  constexpr int64_t too_large = int64_t{1} << 31;
  Scalar one = 1;
  ConstMatrix tall{&one, too_large, 1, 1, 1}, wide{&one, 1, 9, 9, 1};
  CHECK(refusal([&] {
          gemm(1, tall, wide, 0, {&one, too_large, 9, 9, 1});
        }) == "gemm: a size or stride of 2147483648: BLAS takes at most 2147483647");
  ConstMatrix far{&one, 9, 9, too_large, 1}, small{&one, 9, 9, 9, 1};
  CHECK(refusal([&] {
          gemm(1, far, small, 0, {&one, 9, 9, 9, 1});
        }) == "gemm: a size or stride of 2147483648: BLAS takes at most 2147483647");
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
            check_gemm(gemm, Scalar(0.5), a, b, beta, c);
            check_gemm(parallel_gemm, Scalar(0.5), a, b, beta, c);
          }
      }
    }
}

TEST_CASE("parallel_gemm: the same bits with any number of threads") {
  struct Sizes {
    int64_t m, k, n;
  };
  for (auto [m, k, n] :
       {Sizes{777, 128, 130}, {130, 128, 777}, {384, 768, 128}, {33, 1001, 40}, {1, 512, 2100}}) {
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
  for (Gemm function : {gemm, parallel_gemm}) {
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

// Run by the test below in a process where OpenBLAS started with its oldest kernels.
TEST_CASE("openblas: on a CPU it does not know" * doctest::skip()) {
  REQUIRE(openblas_core() == "Prescott");
  unsetenv("OPENBLAS_CORETYPE");
  recognise_new_cpu();
  CHECK(openblas_core() == "SkylakeX");
  CHECK(std::getenv("OPENBLAS_CORETYPE") == nullptr);
  Operand a(100, 90, Order::rows, 1), b(90, 80, Order::columns, 2), c(100, 80, Order::rows, 3);
  check_gemm(gemm, 1, a, b, 1, c);
}

namespace {

/// Runs cases in a process of their own where OpenBLAS has the kernels of another CPU.
bool pass_with_kernels(const std::string& core, const std::string& cases) {
  std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::string command = "OPENBLAS_CORETYPE=" + core + " '" + program +
                        "' --no-skip --minimal --test-case='" + cases + "'";
  return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("openblas: a new CPU is recognised, and a choice of the user's stands") {
  if (!__builtin_cpu_supports("avx512vl")) return;
  CHECK(pass_with_kernels("Prescott", "openblas: on a CPU*"));
}

// Run by the test below in processes where the environment names kernels, without AVX-512 and with it.
TEST_CASE("openblas: kept from AVX-512" * doctest::skip()) {
  CHECK(openblas_complaint().value_or("").starts_with("OPENBLAS_CORETYPE=Haswell keeps OpenBLAS"));
}
TEST_CASE("openblas: free to use AVX-512" * doctest::skip()) {
  CHECK(openblas_complaint() == std::nullopt);
}

TEST_CASE("openblas: a complaint where the environment keeps it from AVX-512, and only there") {
  if (!__builtin_cpu_supports("avx512vl")) return;
  CHECK(pass_with_kernels("Haswell", "openblas: kept*"));
  CHECK(pass_with_kernels("SkylakeX", "openblas: free*"));
}

TEST_CASE("openblas: large products with the kernels of a CPU without AVX-512") {
  if (!__builtin_cpu_supports("avx2")) return;
  CHECK(pass_with_kernels("Haswell", "gemm: beyond*"));
}
