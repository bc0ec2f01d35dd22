#include "shiftgrad/core/machine/bfloat16_product.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

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

/// The most numbers that are added up in one go. A panel of b then takes 32 KiB, about a core's
/// first cache, and a block of a 96 KiB of its second one.
constexpr int64_t block_depth = 512;
/// The most panels of a and of b whose tiles one thread computes in a row.
constexpr int64_t most_row_panels = 8, most_column_panels = 4;
/// The number of blocks that a result is cut into, if it has as many panels, for the threads to
/// share.
constexpr int64_t shared_blocks = 8;

int64_t quotient_up(int64_t dividend, int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

/// Cuts a length into parts of `unit` and puts these into even blocks of at most `most`.
struct Blocks {
  int64_t length, size, count;

  Blocks(int64_t whole, int64_t unit, int64_t most) : length(whole) {
    const int64_t units = std::max<int64_t>(quotient_up(whole, unit), 1);
    size = quotient_up(units, quotient_up(units, most)) * unit;
    count = quotient_up(whole, size);
  }
  int64_t begin(int64_t block) const { return block * size; }
  int64_t extent(int64_t block) const { return std::min(size, length - begin(block)); }
};

struct Release {
  size_t bytes = 0;
  void operator()(Pair* pairs) const { release(pairs, bytes); }
};

/// One operand in panels, all of it: those for one block of depths, then those for the next.
class Packed {
 public:
  using Pack = void (*)(const ConstMatrix&, Pair*);

  /// `operand` is [depth, length], and `pack` packs its columns into panels of `width`. They are
  /// packed piece by piece; until then the memory is uninitialised.
  Packed(const ConstMatrix& operand, int64_t width, int64_t most_panels, Pack pack)
      : operand_(operand),
        pieces_(operand.columns, width, most_panels),
        depths_(operand.rows, 2, block_depth / 2),
        padded_(quotient_up(operand.columns, width) * width),
        pack_(pack) {
    const size_t bytes = static_cast<size_t>(padded_ * quotient_up(operand.rows, 2)) * sizeof(Pair);
    pairs_ = {static_cast<Pair*>(allocate(bytes)), Release{bytes}};
  }

  int64_t pieces() const { return pieces_.count * depths_.count; }
  void pack(int64_t piece) const {
    const int64_t n = piece % pieces_.count, depth = piece / pieces_.count;
    pack_(operand_.block(depths_.begin(depth), depths_.extent(depth), pieces_.begin(n),
                         pieces_.extent(n)),
          at(pieces_.begin(n), depth));
  }

  int64_t length() const { return operand_.columns; }
  int64_t depth() const { return operand_.rows; }
  const Blocks& depths() const { return depths_; }
  /// The panels from that of column `first` on, for a block of depths.
  Pair* at(int64_t first, int64_t depth) const {
    return pairs_.get() + padded_ * depths_.begin(depth) / 2 +
           first * quotient_up(depths_.extent(depth), 2);
  }

 private:
  ConstMatrix operand_;
  Blocks pieces_, depths_;
  int64_t padded_;
  Pack pack_;
  std::unique_ptr<Pair, Release> pairs_;
};

/// Packs two operands, of which either may be null if it is packed already. each(count, body) calls
/// body(n) for 0 … count-1.
template <class Each>
void pack(Each each, const Packed* left, const Packed* right) {
  const int64_t left_pieces = left ? left->pieces() : 0, right_pieces = right ? right->pieces() : 0;
  each(left_pieces + right_pieces,
       [&](int64_t n) { n < left_pieces ? left->pack(n) : right->pack(n - left_pieces); });
}

/// c = alpha a b + beta c for a block of c and the panels of one block of depths.
void multiply_tiles(const Bfloat16Kernel& kernel, int64_t pairs, const Pair* a, const Pair* b,
                    Scalar alpha, Scalar beta, const Matrix& c) {
  for (int64_t column = 0; column < c.columns; column += tile_columns)
    for (int64_t row = 0; row < c.rows; row += tile_rows)
      kernel.multiply(pairs, a + row * pairs, b + column * pairs, alpha, beta,
                      c.block(row, std::min(tile_rows, c.rows - row), column,
                              std::min(tile_columns, c.columns - column)));
}

/// c = alpha a b + beta c for packed operands. Each block of c is finished while it is in the
/// caches.
template <class Each>
void multiply(const Bfloat16Kernel& kernel, Each each, Scalar alpha, const Packed& a,
              const Packed& b, Scalar beta, const Matrix& c) {
  const Blocks columns(c.columns, tile_columns, most_column_panels);
  const int64_t row_panels = quotient_up(c.rows, tile_rows) * columns.count / shared_blocks;
  const Blocks rows(c.rows, tile_rows, std::clamp<int64_t>(row_panels, 1, most_row_panels));
  each(rows.count * columns.count, [&](int64_t n) {
    const int64_t row = rows.begin(n / columns.count), column = columns.begin(n % columns.count);
    const Matrix block =
        c.block(row, rows.extent(n / columns.count), column, columns.extent(n % columns.count));
    for (int64_t depth = 0; depth < a.depths().count; ++depth) {
      const int64_t pairs = quotient_up(a.depths().extent(depth), 2);
      const Scalar kept = depth == 0 ? beta : 1;
      if (a.length() == 1)
        kernel.multiply_row(pairs, a.at(row, depth), b.at(column, depth), alpha, kept, block);
      else
        multiply_tiles(kernel, pairs, a.at(row, depth), b.at(column, depth), alpha, kept, block);
    }
  });
}

Packed left_operand(const Bfloat16Kernel& kernel, const ConstMatrix& a) {
  if (a.rows == 1) return {a.transposed(), 1, 1, kernel.pack_row};
  return {a.transposed(), tile_rows, most_row_panels, kernel.pack_left};
}

Packed right_operand(const Bfloat16Kernel& kernel, const ConstMatrix& b) {
  return {b, tile_columns, most_column_panels, kernel.pack_right};
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
    return multiply_fast(kernel, each, alpha, b.transposed(), a.transposed(), beta, c.transposed());
  const Packed left = left_operand(kernel, a), right = right_operand(kernel, b);
  pack(each, &left, &right);
  multiply(kernel, each, alpha, left, right, beta, c);
}

template <class Each>
void multiply_fast(const Bfloat16Kernel& kernel, Each each, Scalar alpha, const ConstMatrix& a,
                   const Packed& b, Scalar beta, const Matrix& c) {
  const Packed left = left_operand(kernel, a);
  pack(each, &left, nullptr);
  multiply(kernel, each, alpha, left, b, beta, c);
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

bool is_empty(const ConstMatrix& a, const Matrix& c) {
  return c.rows == 0 || c.columns == 0 || a.columns == 0;
}

bool is_small(const ConstMatrix& a, const ConstMatrix& b) {
  return multiplications(a, b) < 2 * worthwhile_products;
}

constexpr auto serially = [](int64_t count, auto body) {
  for (int64_t n = 0; n < count; ++n) body(n);
};
constexpr auto in_parallel = [](int64_t count, auto body) { parallel_for(count, body); };

}  // namespace

/// The panels of b, or where the CPU has no kernel its rounded numbers.
struct Bfloat16Factor::Form {
  ConstMatrix b = {};  // its sizes alone count once it is packed
  std::optional<Packed> panels = {};
  std::optional<Rounded> rounded = {};
};

Bfloat16Factor::Bfloat16Factor(const ConstMatrix& b) {
  auto form = std::make_unique<Form>();
  form->b = b;
  if (const Bfloat16Kernel* kernel = chosen_kernel()) {
    form->panels.emplace(right_operand(*kernel, b));
    pack(in_parallel, nullptr, &*form->panels);
  } else {
    form->rounded.emplace(b);
  }
  form_ = std::move(form);
}

Bfloat16Factor::~Bfloat16Factor() = default;
Bfloat16Factor::Bfloat16Factor(Bfloat16Factor&&) noexcept = default;

void bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  const Bfloat16Kernel* kernel = chosen_kernel();
  check_gemm_sizes(a, b, c);
  if (!kernel) return unrounded_gemm(alpha, Rounded(a).matrix(), Rounded(b).matrix(), beta, c);
  if (is_empty(a, c)) return unrounded_gemm(alpha, a, b, beta, c);
  multiply_fast(*kernel, serially, alpha, a, b, beta, c);
}

void parallel_bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  const Bfloat16Kernel* kernel = chosen_kernel();
  check_gemm_sizes(a, b, c);
  if (!kernel)
    return parallel_unrounded_gemm(alpha, Rounded(a).matrix(), Rounded(b).matrix(), beta, c);
  if (is_small(a, b)) return bfloat16_gemm(alpha, a, b, beta, c);
  multiply_fast(*kernel, in_parallel, alpha, a, b, beta, c);
}

void Bfloat16Factor::gemm(Scalar alpha, ConstMatrix a, Scalar beta, Matrix c) const {
  const auto& [b, panels, rounded] = *form_;
  check_gemm_sizes(a, b, c);
  if (rounded) return unrounded_gemm(alpha, Rounded(a).matrix(), rounded->matrix(), beta, c);
  if (is_empty(a, c)) return unrounded_gemm(alpha, a, b, beta, c);
  multiply_fast(*bfloat16_kernel(), serially, alpha, a, *panels, beta, c);
}

void Bfloat16Factor::parallel_gemm(Scalar alpha, ConstMatrix a, Scalar beta, Matrix c) const {
  const auto& [b, panels, rounded] = *form_;
  check_gemm_sizes(a, b, c);
  if (rounded)
    return parallel_unrounded_gemm(alpha, Rounded(a).matrix(), rounded->matrix(), beta, c);
  if (is_small(a, b)) return gemm(alpha, a, beta, c);
  multiply_fast(*bfloat16_kernel(), in_parallel, alpha, a, *panels, beta, c);
}

bool has_fast_bfloat16_products() { return chosen_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
