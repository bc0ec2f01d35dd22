#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/machine/kernels.h"
#include "core/machine/openblas.h"
#include "core/machine/packed_product.h"
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

namespace {

/// The ways to cut a product that some CPU has.
constexpr PanelBlocks block_cuts[] = {
    {}, {.depth = 512, .row_panels = 16, .column_panels = 12, .columns_in_place = 512}};

/// A kernel that block_cuts so, and reads in place what lies at most this far apart.
PanelKernel kernel_with(PanelBlocks blocks, int64_t farthest) {
  PanelKernel kernel = simd::vector_kernel();
  blocks.columns_in_place = blocks.rows_in_place = farthest;
  kernel.blocks = blocks;
  return kernel;
}

/// Rounds all numbers to bfloat16, by products with 1.
void round_all(Operand& x) {
  for (Scalar& number : x.memory) {
    const Scalar one = 1, old = number;
    serial_rounded_gemm(1, {&old, 1, 1, 1, 1}, {&one, 1, 1, 1, 1}, 0, {&number, 1, 1, 1, 1});
  }
}

}  // namespace

TEST_CASE("vector products: a factor in place gives the bits of a packed one, however it is cut") {
  struct Sizes {
    int64_t m, k, n;
  };
  constexpr int64_t anywhere = std::numeric_limits<int64_t>::max();
  for (const PanelBlocks& cut : block_cuts)
    for (auto [m, k, n] : {Sizes{20, 30, 64}, {37, 600, 96}, {205, 520, 416}})
      for (Order a_order : {Order::columns, Order::padded_columns, Order::scattered})
        for (Order b_order : {Order::rows, Order::padded_rows, Order::columns}) {
          Operand a(m, k, a_order, 1), b(k, n, b_order, 2);
          Operand before(m, n, Order::rows, 3), packed(m, n, Order::rows, 3),
              in_place(m, n, Order::rows, 3);
          panel_product(kernel_with(cut, 0), Scalar(0.5), a.view, b.view, -1.5, packed.view,
                        Threads::one);
          panel_product(kernel_with(cut, anywhere), Scalar(0.5), a.view, b.view, -1.5,
                        in_place.view, Threads::all);
          REQUIRE(in_place.memory == packed.memory);
          REQUIRE(is_product(Scalar(0.5), a.view, b.view, -1.5, before.view, packed.view));
        }
}

TEST_CASE("vector products: a kernel that rounds multiplies rounded factors, wherever they lie") {
  for (const PanelBlocks& cut : block_cuts)
    for (Order a_order : {Order::rows, Order::padded_columns, Order::scattered})
      for (Order b_order : {Order::rows, Order::padded_columns, Order::scattered})
        for (int64_t m : {1, 13, 205})
          for (int64_t k : {7, 530}) {
            constexpr int64_t n = 70;
            Operand a(m, k, a_order, 1), b(k, n, b_order, 2);
            Operand c(m, n, Order::rows, 3), expected(m, n, Order::rows, 3);
            PanelKernel rounding = simd::rounding_kernel();
            rounding.blocks = cut;
            panel_product(rounding, 1, a.view, b.view, 1, c.view, Threads::all);
            round_all(a), round_all(b);
            panel_product(kernel_with(cut, 0), 1, a.view, b.view, 1, expected.view, Threads::one);
            REQUIRE(c.memory == expected.memory);
          }
}

#ifndef SHIFTGRAD_DOUBLE
TEST_CASE("vector products: gemm makes large products of floats so where they beat OpenBLAS") {
  if (!panels_beat_openblas()) return;
  for (Threads threads : {Threads::one, Threads::all}) {
    Operand a(130, 90, Order::rows, 1), b(90, 100, Order::columns, 2), c(130, 100, Order::rows, 3),
        d(130, 100, Order::rows, 3);
    gemm(1, a.view, b.view, 1, c.view, threads);
    serial_panel_gemm(1, a.view, b.view, 1, d.view);
    CHECK(c.memory == d.memory);
  }
}
#endif
