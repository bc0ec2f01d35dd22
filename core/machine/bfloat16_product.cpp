#include "core/machine/bfloat16_product.h"

#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "core/machine/bfloat16_kernel.h"
#include "core/machine/blas.h"
#include "core/storage.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

std::atomic<bool> fast_is_allowed = true;

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

}  // namespace

/// The panels of b, or where the CPU has no kernel its rounded numbers.
struct Bfloat16Factor::Form {
  ConstMatrix b = {};  // its sizes alone count once it is packed
  std::optional<PackedOperand<Bfloat16Pair>> panels = {};
  std::optional<Rounded> rounded = {};
};

Bfloat16Factor::Bfloat16Factor(const ConstMatrix& b) {
  auto form = std::make_unique<Form>();
  form->b = b;
  if (const Bfloat16Kernel* kernel = chosen_kernel()) {
    form->panels.emplace(PackedOperand<Bfloat16Pair>::right(*kernel, b));
    pack<Bfloat16Pair>(in_parallel, nullptr, &*form->panels);
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
  packed_product(*kernel, one_by_one, alpha, a, b, beta, c);
}

void parallel_bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  const Bfloat16Kernel* kernel = chosen_kernel();
  check_gemm_sizes(a, b, c);
  if (!kernel)
    return parallel_unrounded_gemm(alpha, Rounded(a).matrix(), Rounded(b).matrix(), beta, c);
  if (is_small(a, b)) return bfloat16_gemm(alpha, a, b, beta, c);
  packed_product(*kernel, in_parallel, alpha, a, b, beta, c);
}

void Bfloat16Factor::gemm(Scalar alpha, ConstMatrix a, Scalar beta, Matrix c) const {
  const auto& [b, panels, rounded] = *form_;
  check_gemm_sizes(a, b, c);
  if (rounded) return unrounded_gemm(alpha, Rounded(a).matrix(), rounded->matrix(), beta, c);
  if (is_empty(a, c)) return unrounded_gemm(alpha, a, b, beta, c);
  packed_product(*bfloat16_kernel(), one_by_one, alpha, a, *panels, beta, c);
}

void Bfloat16Factor::parallel_gemm(Scalar alpha, ConstMatrix a, Scalar beta, Matrix c) const {
  const auto& [b, panels, rounded] = *form_;
  check_gemm_sizes(a, b, c);
  if (rounded)
    return parallel_unrounded_gemm(alpha, Rounded(a).matrix(), rounded->matrix(), beta, c);
  if (is_small(a, b)) return gemm(alpha, a, beta, c);
  packed_product(*bfloat16_kernel(), in_parallel, alpha, a, *panels, beta, c);
}

bool has_fast_bfloat16_products() { return chosen_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
