#include "core/machine/bfloat16_product.h"

#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "core/machine/bfloat16_kernel.h"
#include "core/machine/blas.h"
#include "core/machine/buffer.h"
#include "core/machine/precision.h"
#include "core/machine/right_factor.h"

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
class RoundedCopy {
 public:
  explicit RoundedCopy(const ConstMatrix& m)
      : elements_(m.rows * m.columns),
        matrix_(Matrix::row_major(elements_.data(), m.rows, m.columns)) {
    ConstMatrix from = m;
    if (m.row_stride == 1 && m.column_stride != 1) {
      from = m.transposed();
      matrix_ = Matrix::row_major(elements_.data(), m.columns, m.rows).transposed();
    }
    Scalar* to = elements_.data();
    for (int64_t row = 0; row < from.rows; ++row)
      for (int64_t column = 0; column < from.columns; ++column)
        *to++ = rounded(from.data[row * from.row_stride + column * from.column_stride]);
  }

  const Matrix& matrix() const { return matrix_; }

 private:
  Buffer elements_;
  Matrix matrix_;
};

/// The kernel to use, or null for software.
const Bfloat16Kernel* chosen_kernel() { return fast_is_allowed ? bfloat16_kernel() : nullptr; }

bool is_small(const ConstMatrix& a, const ConstMatrix& b) {
  return multiplications(a, b) < 2 * worthwhile_products;
}

}  // namespace

void bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  const Bfloat16Kernel* kernel = chosen_kernel();
  if (!has_products(a, b, beta, c)) return;
  if (!kernel)
    return unrounded_gemm(alpha, RoundedCopy(a).matrix(), RoundedCopy(b).matrix(), beta, c);
  packed_product(*kernel, one_by_one, alpha, a, b, beta, c);
}

void parallel_bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c) {
  const Bfloat16Kernel* kernel = chosen_kernel();
  if (kernel && is_small(a, b)) return bfloat16_gemm(alpha, a, b, beta, c);
  if (!has_products(a, b, beta, c)) return;
  if (!kernel)
    return parallel_unrounded_gemm(alpha, RoundedCopy(a).matrix(), RoundedCopy(b).matrix(), beta,
                                   c);
  packed_product(*kernel, in_parallel, alpha, a, b, beta, c);
}

/// The panels of b, or where the CPU has no kernel its rounded numbers.
struct RightFactor::Rounded {
  std::optional<PackedOperand<Bfloat16Pair>> panels = {};
  std::optional<RoundedCopy> copy = {};
};

RightFactor::RightFactor(const ConstMatrix& b) : b_(b) {
  if (product_precision() != Precision::bfloat16) return;
  auto form = std::make_shared<Rounded>();
  if (const Bfloat16Kernel* kernel = chosen_kernel()) {
    form->panels.emplace(PackedOperand<Bfloat16Pair>::right(*kernel, b));
    pack<Bfloat16Pair>(in_parallel, nullptr, &*form->panels);
  } else {
    b_ = form->copy.emplace(b).matrix();
  }
  rounded_ = std::move(form);
}

void RightFactor::gemm(Scalar alpha, const ConstMatrix& a, Scalar beta, const Matrix& c) const {
  if (!rounded_) return unrounded_gemm(alpha, a, b_, beta, c);
  if (!has_products(a, b_, beta, c)) return;
  if (rounded_->copy) return unrounded_gemm(alpha, RoundedCopy(a).matrix(), b_, beta, c);
  packed_product(*bfloat16_kernel(), one_by_one, alpha, a, *rounded_->panels, beta, c);
}

void RightFactor::parallel_gemm(Scalar alpha, const ConstMatrix& a, Scalar beta,
                                const Matrix& c) const {
  if (!rounded_) return parallel_unrounded_gemm(alpha, a, b_, beta, c);
  if (rounded_->panels && is_small(a, b_)) return gemm(alpha, a, beta, c);
  if (!has_products(a, b_, beta, c)) return;
  if (rounded_->copy) return parallel_unrounded_gemm(alpha, RoundedCopy(a).matrix(), b_, beta, c);
  packed_product(*bfloat16_kernel(), in_parallel, alpha, a, *rounded_->panels, beta, c);
}

bool has_fast_bfloat16_products() { return chosen_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
