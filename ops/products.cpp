#include "ops/products.h"

#include <algorithm>
#include <array>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/blas.h"
#include "core/machine/parallel.h"
#include "core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The axes before the last two, split by whether the product is summed over them.
struct Stack {
  std::array<Layout, 3> kept, summed;

  explicit Stack(const std::array<const Layout*, 3>& layouts) {
    const Layout& product = *layouts[2];
    for (size_t o = 0; o < 3; ++o) {
      auto part = [&](bool repeated) {
        return layouts[o]->keep_axes([&](int axis) {
          return axis < product.rank() - 2 && (product.strides[axis] == 0) == repeated;
        });
      };
      kept[o] = part(false);
      summed[o] = part(true);
      kept[o].offset = summed[o].offset = 0;
    }
  }
};

using Steps = Walk<3>;

Steps steps(const std::array<Layout, 3>& part) { return Steps({&part[0], &part[1], &part[2]}); }

/// Calls visit(offset in a, in b, in c) for elements begin … end-1 of a part of the stack.
template <class Visit>
void for_each(const Steps& part, int64_t begin, int64_t end, Visit visit) {
  part.each(begin, end, [&](const auto& at) { visit(at[0], at[1], at[2]); });
}

/// product = alpha left right + beta product at each position of the stack that is kept, summed
/// over the others; the matrices are those of the first position. One task is some rows of one
/// product; with few products their rows are cut finer.
void multiply_stack(Scalar alpha, const ConstMatrix& left, const ConstMatrix& right, Scalar beta,
                    const Matrix& product, const Steps& kept, const Steps& summed) {
  constexpr int64_t enough_tasks = 16, fewest_rows = 64;
  int64_t rows = product.rows;
  int64_t wanted = (enough_tasks + kept.count() - 1) / std::max<int64_t>(kept.count(), 1);
  int64_t tile = std::max(fewest_rows, (rows + wanted - 1) / wanted);
  int64_t tiles = std::max<int64_t>((rows + tile - 1) / tile, 1);
  auto one_task = [&](int64_t task) {
    int64_t stacked = task / tiles, first_row = task % tiles * tile;
    int64_t row_count = std::min(tile, rows - first_row);
    for_each(kept, stacked, stacked + 1, [&](int64_t a_kept, int64_t b_kept, int64_t c_kept) {
      Scalar keep = beta;
      for_each(summed, 0, summed.count(), [&](int64_t a_summed, int64_t b_summed, int64_t) {
        ConstMatrix l = left.rows_from(first_row, row_count), r = right;
        Matrix p = product.rows_from(first_row, row_count);
        l.data += a_kept + a_summed;
        r.data += b_kept + b_summed;
        p.data += c_kept;
        gemm(alpha, l, r, keep, p);
        keep = 1;
      });
    });
  };
  // Small products go to a thread together.
  double products = static_cast<double>(std::min(tile, rows) * product.columns * left.columns) *
                    static_cast<double>(std::max<int64_t>(summed.count(), 1));
  auto together =
      static_cast<int64_t>(std::max(1.0, worthwhile_products / std::max(products, 1.0)));
  parallel_each(kept.count() * tiles, together, one_task);
}

}  // namespace

void multiply_matrices(const char* operation, Scalar alpha, const Tensor& a, const Tensor& b,
                       Scalar beta, const Tensor& c) {
  require_defined(operation, "a", a, "b", b, "c", c);
  require(a.rank() >= 2 && b.rank() == a.rank() && c.rank() == a.rank() &&
              a.size(-1) == b.size(-2) && c.size(-2) == a.size(-2) && c.size(-1) == b.size(-1),
          operation, ": ", a.shape(), " x ", b.shape(), " into ", c.shape());
  if (c.count() == 0) return;
  if (c.layout().is_broadcast(-2) || c.layout().is_broadcast(-1)) {
    // Rows or columns lie on top of each other, where no GEMM could add them up.
    Tensor products = Tensor::empty(c.shape());
    multiply_matrices(operation, alpha, a, b, 0, products);
    return accumulate(beta, c, products);
  }
  ConstMatrix left = matrix_of(a.data(), a), right = matrix_of(b.data(), b);
  Matrix product = matrix_of(c.mutable_data(), c);
  Stack stack({&a.layout(), &b.layout(), &c.layout()});
  Steps kept = steps(stack.kept), summed = steps(stack.summed);
  if (kept.count() * summed.count() == 1)
    return gemm(alpha, left, right, beta, product, Threads::all);
  multiply_stack(alpha, left, right, beta, product, kept, summed);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
