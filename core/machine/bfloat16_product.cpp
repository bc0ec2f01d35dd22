#include "shiftgrad/core/machine/bfloat16_product.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/allocator.h"
#include "shiftgrad/core/machine/bfloat16_kernel.h"
#include "shiftgrad/core/machine/blas.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/storage.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using Pair = Bfloat16Pair;

std::atomic<bool> fast_is_allowed = true;

/// The length of the sums that are taken in one go. A panel of b then takes 32 KiB, about a core's
/// first cache, and a block of a 96 KiB of its second one.
constexpr int64_t block_depth = 512;
/// The panels of a and of b whose tiles one thread computes in a row.
constexpr int64_t block_row_panels = 8, block_column_panels = 4;

int64_t quotient_up(int64_t dividend, int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

/// Uninitialised memory for panels.
class Panels {
 public:
  explicit Panels(int64_t pairs)
      : bytes_(static_cast<size_t>(pairs) * sizeof(Pair)),
        pairs_(static_cast<Pair*>(allocate(bytes_))) {}
  ~Panels() { release(pairs_, bytes_); }
  Panels(const Panels&) = delete;
  Panels& operator=(const Panels&) = delete;

  Pair* data() const { return pairs_; }

 private:
  size_t bytes_;
  Pair* pairs_;
};

/// Multiplies panels of a with panels of b, up to a block of each.
void multiply_block(const Bfloat16Kernel& kernel, int64_t pairs, const Pair* a, const Pair* b,
                    Scalar alpha, Scalar beta, const Matrix& c) {
  for (int64_t column = 0; column < c.columns; column += tile_columns)
    for (int64_t row = 0; row < c.rows; row += tile_rows)
      kernel.multiply(pairs, a + row * pairs, b + column * pairs, alpha, beta,
                      c.block(row, std::min(tile_rows, c.rows - row), column,
                              std::min(tile_columns, c.columns - column)));
}

/// c = alpha a b + beta c, where each(count, body) calls body(n) for 0 … count-1. All of a and b is
/// packed for one block of depths, and then multiplied.
template <class Each>
void multiply_packed(const Bfloat16Kernel& kernel, Each each, Scalar alpha, const ConstMatrix& a,
                     const ConstMatrix& b, Scalar beta, const Matrix& c) {
  constexpr int64_t block_rows = block_row_panels * tile_rows,
                    block_columns = block_column_panels * tile_columns;
  const int64_t row_blocks = quotient_up(c.rows, block_rows),
                column_blocks = quotient_up(c.columns, block_columns);
  const int64_t most_pairs = quotient_up(std::min(a.columns, block_depth), 2);
  Panels left(quotient_up(c.rows, tile_rows) * tile_rows * most_pairs),
      right(quotient_up(c.columns, tile_columns) * tile_columns * most_pairs);
  for (int64_t begin = 0; begin < a.columns; begin += block_depth) {
    const int64_t depth = std::min(block_depth, a.columns - begin), pairs = quotient_up(depth, 2);
    each(row_blocks + column_blocks, [&](int64_t n) {
      if (n < row_blocks) {
        const int64_t row = n * block_rows;
        kernel.pack_rows(a.block(row, std::min(block_rows, c.rows - row), begin, depth),
                         left.data() + row * pairs);
      } else {
        const int64_t column = (n - row_blocks) * block_columns;
        kernel.pack_columns(
            b.block(begin, depth, column, std::min(block_columns, c.columns - column)),
            right.data() + column * pairs);
      }
    });
    each(row_blocks * column_blocks, [&](int64_t n) {
      const int64_t row = n / column_blocks * block_rows,
                    column = n % column_blocks * block_columns;
      multiply_block(kernel, pairs, left.data() + row * pairs, right.data() + column * pairs, alpha,
                     begin == 0 ? beta : 1,
                     c.block(row, std::min(block_rows, c.rows - row), column,
                             std::min(block_columns, c.columns - column)));
    });
  }
}

/// Whether the tiles fit the transposed product better: its rows lie dense, or a tile of columns
/// would be almost empty.
bool is_better_transposed(const Matrix& c) {
  if (c.columns == 1) return c.rows > 1;
  return c.rows > 1 && c.column_stride != 1 && c.row_stride == 1;
}

template <class Each>
void multiply_fast(const Bfloat16Kernel& kernel, Each each, Scalar alpha, const ConstMatrix& a,
                   const ConstMatrix& b, Scalar beta, const Matrix& c) {
  if (is_better_transposed(c))
    multiply_packed(kernel, each, alpha, b.transposed(), a.transposed(), beta, c.transposed());
  else
    multiply_packed(kernel, each, alpha, a, b, beta, c);
}

/// Rounds to the nearest number whose lower half is 0, of two the even one. A carry may reach the
/// exponent, which then is right. NaN gets a bit that no carry can lose.
Scalar rounded(Scalar value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return std::bit_cast<Scalar>((bits | 0x400000u) & 0xffff0000u);
  bits += 0x7fffu + (bits >> 16 & 1);
  return std::bit_cast<Scalar>(bits & 0xffff0000u);
}

/// A rounded copy whose rows, or columns if those of `m` are dense, follow one another.
class Rounded {
 public:
  explicit Rounded(const ConstMatrix& m) : elements_(m.rows * m.columns), matrix_(laid_out(m)) {
    const ConstMatrix from = is_column_major(m) ? m.transposed() : m;
    for (int64_t row = 0; row < from.rows; ++row)
      for (int64_t column = 0; column < from.columns; ++column)
        elements_.data()[row * from.columns + column] =
            rounded(from.data[row * from.row_stride + column * from.column_stride]);
  }

  ConstMatrix matrix() const { return matrix_; }

 private:
  static bool is_column_major(const ConstMatrix& m) {
    return m.row_stride == 1 && m.column_stride != 1;
  }
  Matrix laid_out(const ConstMatrix& m) const {
    if (is_column_major(m))
      return Matrix::row_major(elements_.data(), m.columns, m.rows).transposed();
    return Matrix::row_major(elements_.data(), m.rows, m.columns);
  }

  Buffer elements_;
  Matrix matrix_;
};

/// The kernel to use, or null for software.
const Bfloat16Kernel* chosen_kernel() { return fast_is_allowed ? bfloat16_kernel() : nullptr; }

}  // namespace

void bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  const Bfloat16Kernel* kernel = chosen_kernel();
  check_gemm_sizes(a, b, c);
  if (!kernel) return unrounded_gemm(alpha, Rounded(a).matrix(), Rounded(b).matrix(), beta, c);
  if (c.rows == 0 || c.columns == 0 || a.columns == 0)
    return unrounded_gemm(alpha, a, b, beta, c);  // nothing to multiply
  auto each = [](int64_t count, auto body) {
    for (int64_t n = 0; n < count; ++n) body(n);
  };
  multiply_fast(*kernel, each, alpha, a, b, beta, c);
}

void parallel_bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  const Bfloat16Kernel* kernel = chosen_kernel();
  check_gemm_sizes(a, b, c);
  if (!kernel)
    return parallel_unrounded_gemm(alpha, Rounded(a).matrix(), Rounded(b).matrix(), beta, c);
  if (multiplications(a, b) < 2 * worthwhile_products) return bfloat16_gemm(alpha, a, b, beta, c);
  auto each = [](int64_t count, auto body) { parallel_for(count, body); };
  multiply_fast(*kernel, each, alpha, a, b, beta, c);
}

bool has_fast_bfloat16_products() { return chosen_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
