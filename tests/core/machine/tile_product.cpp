#include "core/machine/packed_product.h"
#include "core/machine/precision.h"
#include "core/storage.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/in_bfloat16.h"
#include "tests/support/products.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Two factors with their panels.
struct Factors {
  Buffer left_panels, right_panels;
  Factor left;
  Factor right;

  Factors(const ConstMatrix& a, const ConstMatrix& b)
      : left_panels(left_panel_count(a.rows, a.columns)),
        right_panels(right_panel_count(b.rows, b.columns)),
        left(pack_left(a, left_panels.data())),
        right(pack_right(b, right_panels.data())) {}
};

void tile_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  Factors packed(a, b);
  tile_product(alpha, packed.left, packed.right, beta, c);
}

/// Calls body on every instruction set, in each precision.
template <class Body>
void everywhere(Body body) {
  in_each_precision([&] { on_every_instruction_set(body); });
}

}  // namespace

TEST_CASE("tile_product: tiles and their edges at any strides") {
  on_every_instruction_set([] {
    for (auto [m, k, n] :
         {std::array{1, 1, 1}, {5, 3, 7}, {11, 17, 32}, {12, 64, 33}, {25, 40, 70}})
      for (Order a_order : orders)
        for (Order b_order : orders)
          for (Order c_order : {Order::rows, Order::padded_columns, Order::scattered})
            for (Scalar beta : {Scalar(0), Scalar(-1.5)}) {
              Operand a(m, k, a_order, 1), b(k, n, b_order, 2), c(m, n, c_order, 3);
              if (beta == 0) std::fill(c.memory.begin(), c.memory.end(), not_a_number);
              if (beta != 0) check_gemm(tile_gemm, Scalar(0.5), a, b, beta, c);
              tile_gemm(1, a.view, b.view, beta, c.view);
              if (beta == 0) CHECK(is_product(1, a.view, b.view, 0, c.view, c.view));
            }
  });
}

TEST_CASE("tile_product: the bits of gemm in bfloat16, and no number beside an operand is read") {
#ifndef SHIFTGRAD_DOUBLE
  InBfloat16 rounded;
  for (auto [m, k, n] : {std::array{1, 1, 1}, {13, 37, 70}, {96, 64, 100}}) {
    for (Order order : {Order::padded_rows, Order::padded_columns}) {
      Operand a(m, k, order, 1), b(k, n, order, 2), c(m, n, Order::rows, 3),
          d(m, n, Order::rows, 3);
      gemm(Scalar(0.5), a.view, b.view, 1, c.view);
      tile_gemm(Scalar(0.5), a.view, b.view, 1, d.view);
      CHECK(c.memory == d.memory);
    }
  }
#endif
}

TEST_CASE("tile_product: sums begin at 0, whatever the product before left in registers") {
  on_every_instruction_set([] {
    Operand nothing(32, 1, Order::rows, 1), b(1, 32, Order::rows, 2);
    std::fill(nothing.memory.begin(), nothing.memory.end(), not_a_number);
    for (int64_t rows = 1; rows <= 32; ++rows) {
      CAPTURE(rows);
      Operand a(rows, 1, Order::rows, 3), c(rows, 32, Order::rows, 4),
          spoilt(rows, 32, Order::rows, 4);
      Factors none(nothing.view.rows_from(0, rows), b.view), numbers(a.view, b.view);
      tile_product(1, none.left, none.right, 0, spoilt.view);
      tile_product(1, numbers.left, numbers.right, 0, c.view);
      CHECK(is_product(1, a.view, b.view, 0, c.view, c.view));
    }
  });
}

TEST_CASE("tile_product: a part of a packed factor is what packing the part gives") {
  everywhere([] {
    Operand a(20, 30, Order::rows, 1), b(100, 130, Order::rows, 2);
    Factors whole(a.view, b.view);
    for (auto [row, column, columns] : {std::array{0, 0, 130}, {14, 32, 40}, {70, 96, 34}}) {
      Operand c(20, columns, Order::rows, 3), d(20, columns, Order::rows, 3);
      Factors part(a.view, ConstMatrix(b.view).block(row, 30, column, columns));
      tile_product(1, whole.left, whole.right.block(row, 30, column, columns), 1, c.view);
      tile_product(1, part.left, part.right, 1, d.view);
      CHECK(c.memory == d.memory);
    }
  });
}

TEST_CASE("tile_product: what is outside a band changes no bit of what is inside") {
  everywhere([] {
    for (bool rising : {false, true})
      for (auto [lowest, highest] :
           {std::array{-200, 5}, {-20, 200}, {-7, 40}, {3, 4}, {300, 400}}) {
        Band band{lowest, highest, rising};
        auto inside = [&](int64_t r, int64_t c) {
          int64_t place = rising ? c + r : c - r;
          return band.lowest <= place && place <= band.highest;
        };
        Operand a(50, 100, Order::rows, 1), b(100, 100, Order::rows, 2);
        Operand all(50, 100, Order::rows, 3), some(50, 100, Order::rows, 3);
        Factors dense(a.view, b.view);
        tile_product(1, dense.left, dense.right, 1, all.view);
        tile_product(1, dense.left, dense.right, 1, some.view, {}, band);
        for (int64_t r = 0; r < 50; ++r)
          for (int64_t c = 0; c < 100; ++c) {
            if (inside(r, c)) REQUIRE(at(some.view, r, c) == at(all.view, r, c));
            if (!inside(r, c)) at(a.view, r, c) = 0;
          }
        Factors banded(a.view, b.view);
        tile_product(1, banded.left, banded.right, 0, all.view);
        tile_product(1, banded.left, banded.right, 0, some.view, band);
        CHECK(some.memory == all.memory);
        Operand turned(100, 50, Order::columns, 4);
        for (int64_t r = 0; r < 50; ++r)
          for (int64_t c = 0; c < 100; ++c) at(turned.view, c, r) = at(a.view, r, c);
        Operand from(50, 40, Order::rows, 5), full(100, 40, Order::rows, 6),
            part(100, 40, Order::rows, 6);
        Factors upright(turned.view, from.view);
        tile_product(1, upright.left, upright.right, 1, full.view);
        tile_product(1, upright.left, upright.right, 1, part.view, band.transposed());
        CHECK(part.memory == full.memory);
      }
  });
}
