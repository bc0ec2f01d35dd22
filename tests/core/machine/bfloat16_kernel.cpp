// Every size of a product that edges of tiles and of steps in depth can make, by the kernel that
// this CPU has for pairs of bfloat16 numbers, and by the one for floats.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/machine/kernels.h"
#include "core/machine/packed_product.h"
#include "tests/support/guarded_matrix.h"
#include "tests/support/in_bfloat16.h"
#include "tests/support/products.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using test::by_hardware_and_software, test::Gemm, test::Order, test::serial_rounded_gemm;

namespace {

constexpr int64_t most = 40;

/// A matrix that lies amid NaNs. Its numbers have 7 bits: rounding leaves them.
struct AmidNans {
  Buffer memory;
  Matrix view;

  AmidNans(int64_t rows, int64_t columns, Order order, uint64_t seed)
      : memory(2 * step * (most + 2)) {
    std::fill_n(memory.data(), memory.count(), test::not_a_number);
    Scalar* first = memory.data() + step;
    view = order == Order::rows      ? Matrix{first, rows, columns, step, 1}
           : order == Order::columns ? Matrix{first, rows, columns, 1, step}
                                     : Matrix{first, rows, columns, 2 * step, 2};
    Random random{seed};
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        view.at(row, column) = static_cast<Scalar>(std::floor(255 * random.uniform()) - 127) / 128;
  }

 private:
  static constexpr int64_t step = most + 7;
};

/// Fills the last numbers before a page that nobody may read with NaNs.
Scalar* fresh_panels(const test::GuardedMatrix& memory, int64_t count) {
  REQUIRE(count <= memory.view.columns);
  return std::fill_n(memory.view.data + memory.view.columns - count, count, test::not_a_number) -
         count;
}

/// Multiplies by tiles.
void gemm_in_tiles(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  constexpr int64_t enough = 1 << 13;
  static const test::GuardedMatrix left(1, enough, Order::rows, 1),
      right(1, enough, Order::rows, 2);
  InBfloat16 rounded;
  const Factor rows = pack_left(a, fresh_panels(left, left_panel_count(a.rows, a.columns)));
  const Factor columns = pack_right(b, fresh_panels(right, right_panel_count(b.rows, b.columns)));
  tile_product(alpha, rows, columns, beta, c);
}

/// Whether c's elements have the bits of those at the same places in the larger `whole`.
bool is_corner_of(const ConstMatrix& whole, const ConstMatrix& c) {
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; ++column)
      if (c.at(row, column) != whole.at(row, column)) return false;
  return true;
}

/// Checks a product of this depth, and that each smaller one has the bits of its corner.
void check_corners(Gemm function, int64_t depth, Order order, Scalar alpha, Scalar beta) {
  AmidNans a(most, depth, order, 1), b(depth, most, order, 2), before(most, most, order, 3),
      whole(most, most, order, 3), c(most, most, order, 3);
  function(alpha, a.view, b.view, beta, whole.view);
  REQUIRE(test::is_product(alpha, a.view, b.view, beta, before.view, whole.view));
  const int64_t step = depth == 35 ? 1 : 5;
  for (int64_t m = 1; m <= most; m += m < 3 ? 1 : step)
    for (int64_t n = 1; n <= most; n += n < 3 ? 1 : step) {
      copy_matrix(before.view, c.view);
      const Matrix corner = c.view.block(0, m, 0, n);
      function(alpha, a.view.rows_from(0, m), b.view.columns_from(0, n), beta, corner);
      CAPTURE(m);
      CAPTURE(n);
      REQUIRE(is_corner_of(whole.view, corner));
      if (m < most) REQUIRE(c.view.at(m, n - 1) == before.view.at(m, n - 1));
      if (n < most) REQUIRE(c.view.at(m - 1, n) == before.view.at(m - 1, n));
    }
}

}  // namespace

TEST_CASE("bfloat16 kernel: every small size, amid NaNs, with the bits of a larger product") {
  by_hardware_and_software([] {
    for (int64_t depth = 1; depth <= most; ++depth)
      for (Order order : {Order::rows, Order::columns, Order::scattered})
        for (Gemm function : {serial_rounded_gemm, gemm_in_tiles}) {
          CAPTURE(depth);
          CAPTURE(static_cast<int>(order));
          check_corners(function, depth, order, 1, 0);
          if (depth % 4 == 1) check_corners(function, depth, order, Scalar(0.3), Scalar(-1.5));
        }
  });
}

TEST_CASE("bfloat16 kernel: a special number at any depth reaches its row and no other") {
  by_hardware_and_software([] {
    for (Gemm function : {serial_rounded_gemm, gemm_in_tiles})
      for (int64_t depth : {1, 2, 31, 32, 33, 40})
        for (int64_t place = 0; place < depth; ++place)
          for (Scalar special : {test::infinity, -test::infinity, test::not_a_number}) {
            AmidNans a(20, depth, Order::rows, 1), b(depth, 20, Order::rows, 2);
            AmidNans clean(20, 20, Order::rows, 3), c(20, 20, Order::rows, 3);
            for (int64_t column = 0; column < 20; ++column) b.view.at(place, column) = 1;
            function(1, a.view, b.view, 0, clean.view);
            a.view.at(17, place) = special;
            function(1, a.view, b.view, 0, c.view);
            for (int64_t column = 0; column < 20; ++column) {
              const Scalar found = c.view.at(17, column);
              REQUIRE((std::isnan(special) ? std::isnan(found) : found == special));
              c.view.at(17, column) = clean.view.at(17, column);
            }
            REQUIRE(is_corner_of(clean.view, c.view));
          }
  });
}

TEST_CASE("bfloat16 kernel: a number below the least normal one counts, or counts as 0") {
  by_hardware_and_software([] {
    constexpr Scalar least = std::numeric_limits<Scalar>::min();
    for (Scalar tiny : {least / 2, -least / 64})
      for (Scalar factor : {Scalar(1), Scalar(0x1p100)}) {
        AmidNans a(20, 3, Order::rows, 1), b(3, 20, Order::rows, 2), c(20, 20, Order::rows, 3);
        for (int64_t n = 0; n < 20; ++n)
          for (int64_t depth = 0; depth < 3; ++depth) {
            a.view.at(n, depth) = depth == 1 ? tiny : 0;
            b.view.at(depth, n) = factor;
          }
        serial_rounded_gemm(1, a.view, b.view, 0, c.view);
        const Scalar found = c.view.at(0, 0);
        CHECK((found == 0 || found == tiny * factor));
        for (int64_t row = 0; row < 20; ++row)
          for (int64_t column = 0; column < 20; ++column) REQUIRE(c.view.at(row, column) == found);
      }
  });
}

#if defined(__x86_64__)

namespace {

/// Gives this thread's tiles other shapes, as another library may.
void shape_tiles_otherwise() {
  alignas(64) uint8_t shapes[64] = {};
  shapes[0] = 1;
  for (int tile = 0; tile < 8; ++tile) shapes[16 + 2 * tile] = 4, shapes[48 + tile] = 3;
  asm volatile("ldtilecfg %0" ::"m"(shapes));
}

void release_tiles() { asm volatile("tilerelease"); }

}  // namespace

TEST_CASE("bfloat16 kernel: tiles that another library has shaped or released") {
  if (!amx_kernel()) return;
  for (auto change : {shape_tiles_otherwise, release_tiles}) {
    change();
    check_corners(serial_rounded_gemm, 35, Order::rows, 1, 0);
    AmidNans a(most, 35, Order::rows, 1), b(35, most, Order::rows, 2),
        c(most, most, Order::rows, 3);
    change();
    serial_rounded_gemm(1, a.view, b.view, 0, c.view);
    CHECK(test::is_product(1, a.view, b.view, 0, c.view, c.view));
  }
}

#endif
