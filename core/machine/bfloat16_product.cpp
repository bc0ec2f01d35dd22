#include "core/machine/bfloat16_product.h"

#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "core/machine/blas.h"
#include "core/machine/packed_product.h"
#include "core/machine/precision.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

std::atomic<bool> fast_is_allowed = true;

/// Rounds to the nearest number whose lower half is 0, of two the even one. A carry may reach the
/// exponent, which then is right. NaN gets a bit that no carry can lose.
float rounded(Scalar value) {
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (value != value) return std::bit_cast<float>((bits | 0x400000u) & 0xffff0000u);
  bits += 0x7fffu + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xffff0000u);
}

/// Returns a rounded copy whose rows, or columns if those of `m` are dense, follow one another.
MatrixCopy rounded_copy(const ConstMatrix& m) {
  if (m.row_stride != 1 || m.column_stride == 1) return MatrixCopy(m, rounded);
  MatrixCopy turned(m.transposed(), rounded);
  turned.matrix = turned.matrix.transposed();
  return turned;
}

/// The kernel to use, or null for software.
const Bfloat16Kernel* chosen_kernel() { return fast_is_allowed ? bfloat16_kernel() : nullptr; }

/// Computes c = alpha a b + beta c by the CPU's instructions, for a b that may be packed already.
void fast_product(Threads threads, Scalar alpha, const ConstMatrix& a, const auto& b, Scalar beta,
                  const Matrix& c) {
  if (multiplications(a, c) < 2 * worthwhile_products) threads = Threads::one;
  packed_product(*bfloat16_kernel(), threads, alpha, a, b, beta, c);
}

}  // namespace

bool products_round() {
  return sizeof(Scalar) == sizeof(float) && product_precision() == Precision::bfloat16;
}

void bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c,
                   Threads threads) {
  if (!has_products(a, b, beta, c)) return;
  if (chosen_kernel()) return fast_product(threads, alpha, a, b, beta, c);
  unrounded_gemm(alpha, rounded_copy(a).matrix, rounded_copy(b).matrix, beta, c, threads);
}

/// The panels of b, or where the CPU has no kernel its rounded numbers.
struct RightFactor::Rounded {
  std::optional<PackedOperand<Bfloat16Pair>> panels = {};
  std::optional<MatrixCopy> copy = {};
};

RightFactor::RightFactor(const ConstMatrix& b) : b_(b) {
  if (!products_round()) return;
  auto form = std::make_shared<Rounded>();
  if (const Bfloat16Kernel* kernel = chosen_kernel())
    pack(Threads::all, form->panels.emplace(PackedOperand<Bfloat16Pair>::right(*kernel, b)));
  else
    b_ = form->copy.emplace(rounded_copy(b)).matrix;
  rounded_ = std::move(form);
}

void RightFactor::gemm(Scalar alpha, const ConstMatrix& a, Scalar beta, const Matrix& c,
                       Threads threads) const {
  if (!rounded_) return unrounded_gemm(alpha, a, b_, beta, c, threads);
  if (!has_products(a, b_, beta, c)) return;
  if (rounded_->panels) return fast_product(threads, alpha, a, *rounded_->panels, beta, c);
  unrounded_gemm(alpha, rounded_copy(a).matrix, b_, beta, c, threads);
}

bool has_fast_bfloat16_products() { return chosen_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
