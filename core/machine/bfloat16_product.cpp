#include "core/machine/bfloat16_product.h"

#include <atomic>
#include <utility>
#include <variant>

#include "core/machine/blas.h"
#include "core/machine/packed_product.h"
#include "core/machine/precision.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

std::atomic<bool> fast_is_allowed = true;

}  // namespace

bool products_round() {
  return sizeof(Scalar) == sizeof(float) && product_precision() == Precision::bfloat16;
}

const Bfloat16Kernel* pair_kernel() { return fast_is_allowed ? bfloat16_kernel() : nullptr; }

void bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Scalar beta, Matrix c,
                   Threads threads) {
  if (!has_products(a, b, beta, c)) return;
  with_rounding_kernel(
      [&](const auto& kernel) { packed_product(kernel, threads, alpha, a, b, beta, c); });
}

/// The panels of b.
struct RightFactor::Rounded {
  std::variant<PackedOperand<Scalar>, PackedOperand<Bfloat16Pair>> panels;
};

RightFactor::RightFactor(const ConstMatrix& b) : b_(b) {
  if (!products_round()) return;
  with_rounding_kernel([&]<class Element>(const PanelKernel<Element>& kernel) {
    auto panels = PackedOperand<Element>::right(kernel, b);
    pack(Threads::all, panels);
    rounded_ = std::make_shared<Rounded>(Rounded{std::move(panels)});
  });
}

void RightFactor::gemm(Scalar alpha, const ConstMatrix& a, Scalar beta, const Matrix& c,
                       Threads threads) const {
  if (!rounded_) return unrounded_gemm(alpha, a, b_, beta, c, threads);
  if (!has_products(a, b_, beta, c)) return;
  if (const auto* pairs = std::get_if<PackedOperand<Bfloat16Pair>>(&rounded_->panels))
    return packed_product(*bfloat16_kernel(), threads, alpha, a, *pairs, beta, c);
  packed_product(simd::rounding_kernel(), threads, alpha, a,
                  std::get<PackedOperand<Scalar>>(rounded_->panels), beta, c);
}

bool has_fast_bfloat16_products() { return pair_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
