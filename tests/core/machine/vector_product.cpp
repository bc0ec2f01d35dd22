#include <algorithm>
#include <cstdint>

#include "core/machine/blas.h"
#include "core/machine/openblas.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/products.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("vector products: tiles, their edges, and sums of several blocks of depth") {
  struct Sizes {
    int64_t m, k, n;
  };
  on_every_instruction_set([] {
    for (auto [m, k, n] : {Sizes{9, 5, 9}, {12, 64, 32}, {13, 256, 33}, {49, 520, 70}})
      for (Order a_order :
           {Order::rows, Order::padded_columns, Order::scattered, Order::equal_rows})
        for (Order b_order : {Order::padded_rows, Order::columns})
          for (Order c_order : {Order::rows, Order::padded_columns, Order::scattered})
            for (Scalar beta : {Scalar(0), Scalar(-1.5)}) {
              Operand a(m, k, a_order, 1), b(k, n, b_order, 2), c(m, n, c_order, 3);
              if (beta == 0) std::fill(c.memory.begin(), c.memory.end(), Scalar(1e30));
              check_gemm(serial_panel_gemm, Scalar(0.5), a, b, beta, c);
            }
  });
}

TEST_CASE("vector products: an element's bits depend on its row and its column alone") {
  Operand a(40, 300, Order::rows, 1), b(300, 70, Order::rows, 2), all(40, 70, Order::rows, 3);
  parallel_panel_gemm(1, a.view, b.view, 0, all.view);
  Operand part(15, 37, Order::padded_rows, 4);
  serial_panel_gemm(1, a.view.rows_from(7, 15), b.view.columns_from(30, 37), 0, part.view);
  for (int64_t row = 0; row < 15; ++row)
    for (int64_t column = 0; column < 37; ++column)
      REQUIRE(at(part.view, row, column) == at(all.view, 7 + row, 30 + column));
}

#ifndef SHIFTGRAD_DOUBLE
TEST_CASE("vector products: gemm makes large products of floats so where they beat OpenBLAS") {
  if (!panels_beat_openblas()) return;
  for (Threads threads : {Threads::one, Threads::all}) {
    Operand a(130, 90, Order::rows, 1), b(90, 100, Order::columns, 2),
        c(130, 100, Order::rows, 3), d(130, 100, Order::rows, 3);
    gemm(1, a.view, b.view, 1, c.view, threads);
    panel_gemm(1, a.view, b.view, 1, d.view, Threads::one);
    CHECK(c.memory == d.memory);
  }
}
#endif
