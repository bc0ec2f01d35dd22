#include "ops/products.h"

#include <algorithm>
#include <array>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/packed_product.h"
#include "core/machine/parallel.h"
#include "core/packed_weights.h"
#include "core/walk.h"
#include "ops/zero_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using Steps = Walk<3>;

/// Returns the steps along the axes before the last two over which the product is summed, or along
/// the others.
Steps steps(bool summed, const Layout& a, const Layout& b, const Layout& product) {
  std::array<Layout, 3> parts{a, b, product};
  for (Layout& part : parts) {
    part.offset = 0;
    part = part.keep_axes([&](int axis) {
      return axis < product.rank() - 2 && (product.strides[axis] == 0) == summed;
    });
  }
  return Steps({&parts[0], &parts[1], &parts[2]});
}

/// How one product of a stack is made.
struct Product {
  WeightsIn weights;
  Scalar alpha;
  Threads threads;

  /// c = alpha a b + beta c
  void add(const ConstMatrix& a, const ConstMatrix& b, Scalar beta, const Matrix& c) const {
    auto multiply = [&](const ConstMatrix& left, const ConstMatrix& right) {
      gemm(alpha, left, right, beta, c, threads);
    };
    if (weights == WeightsIn::left)
      weighted_product(alpha, a, b, c, [&](const ConstMatrix& right) { multiply(a, right); });
    else if (weights == WeightsIn::right)
      weighted_product(alpha, b.transposed(), a.transposed(), c.transposed(),
                       [&](const ConstMatrix& left) { multiply(left.transposed(), b); });
    else
      multiply(a, b);
  }
};

/// c = alpha left right + beta c at each position of the stack that is kept, summed over the
/// others; the matrices are those of the first position. One task is some rows of one product; with
/// few products their rows are cut finer.
void multiply_stack(const Product& product, const ConstMatrix& left, const ConstMatrix& right,
                    Scalar beta, const Matrix& c, const Steps& kept, const Steps& summed) {
  constexpr int64_t enough_tasks = 16, fewest_rows = 64;
  int64_t rows = c.rows;
  int64_t wanted = divide_up(enough_tasks, std::max<int64_t>(kept.count(), 1));
  int64_t tile = std::max(fewest_rows, divide_up(rows, wanted));
  int64_t tiles = std::max<int64_t>(divide_up(rows, tile), 1);
  auto one_task = [&](int64_t task) {
    int64_t stacked = task / tiles, first_row = task % tiles * tile;
    int64_t row_count = std::min(tile, rows - first_row);
    kept.each(stacked, stacked + 1, [&](const auto& at) {
      Matrix part = c.rows_from(first_row, row_count);
      part.data += at[2];
      Scalar keep = beta;
      summed.each(0, summed.count(), [&](const auto& then) {
        ConstMatrix a = left.rows_from(first_row, row_count), b = right;
        a.data += at[0] + then[0];
        b.data += at[1] + then[1];
        product.add(a, b, keep, part);
        keep = 1;
      });
    });
  };
  // Small products go to a thread together.
  double products = static_cast<double>(std::min(tile, rows) * c.columns * left.columns) *
                    static_cast<double>(std::max<int64_t>(summed.count(), 1));
  auto together =
      static_cast<int64_t>(std::max(1.0, worthwhile_products / std::max(products, 1.0)));
  parallel_each(kept.count() * tiles, together, one_task);
}

}  // namespace

void multiply_matrices(const char* operation, Scalar alpha, const Tensor& a, const Tensor& b,
                       Scalar beta, const Tensor& c, WeightsIn weights) {
  require_defined(operation, "a", a, "b", b, "c", c);
  require(a.rank() >= 2 && b.rank() == a.rank() && c.rank() == a.rank() &&
              a.size(-1) == b.size(-2) && c.size(-2) == a.size(-2) && c.size(-1) == b.size(-1),
          operation, ": ", a.shape(), " x ", b.shape(), " into ", c.shape());
  if (c.count() == 0) return;
  if (c.layout().is_broadcast(-2) || c.layout().is_broadcast(-1)) {
    // Rows or columns lie on top of each other, where no GEMM could add them up.
    Tensor products = Tensor::empty(c.shape());
    multiply_matrices(operation, alpha, a, b, 0, products, weights);
    return accumulate(beta, c, products);
  }
  ConstMatrix left = matrix_of(a.data(), a), right = matrix_of(b.data(), b);
  Matrix sums = matrix_of(c.mutable_data(), c);
  Steps kept = steps(false, a.layout(), b.layout(), c.layout());
  Steps summed = steps(true, a.layout(), b.layout(), c.layout());
  if (kept.count() * summed.count() != 1)
    return multiply_stack({weights, alpha, Threads::one}, left, right, beta, sums, kept, summed);
  Product{weights, alpha, Threads::all}.add(left, right, beta, sums);
}

namespace {

/// Returns what to add to the products of y for a bias of its shape, which may be undefined. One
/// that is no row is put into y.
Addend start_from(const Tensor& bias, const Tensor& y) {
  if (!bias.defined()) return 0;
  const Dims& strides = bias.layout().strides;
  if (std::count(strides.begin(), strides.end() - 1, 0) == y.rank() - 1 && strides[-1] == 1)
    return {1, bias.data()};
  copy_into(y, bias);
  return 1;
}

}  // namespace

void multiply_by_transposed(const Tensor& rows, const Tensor& weight, const Tensor& added,
                            const Tensor& y) {
  if (y.count() == 0) return;
  const ConstMatrix a = matrix_of(rows.data(), rows);
  const Addend addend = start_from(added, y);
  const Matrix c = Matrix::row_major(y.mutable_data(), rows.size(0), weight.size(0));
  if (const Packed* packed = PackedWeights::transposed(a, weight, c))
    gemm(1, a, *packed, addend, c, Threads::all);
  else
    gemm(1, a, matrix_of(weight.data(), weight).transposed(), addend, c, Threads::all);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
