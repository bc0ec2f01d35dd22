#include "core/machine/bfloat16_product.h"

#include <atomic>
#include <memory>

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

void bfloat16_gemm(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                   Threads threads) {
  if (!has_products(a, b, added, c)) return;
  with_rounding_kernel(
      [&](const auto& kernel) { packed_product(kernel, threads, alpha, a, b, added, c); });
}

RightFactor::RightFactor(const ConstMatrix& b) : b_(b), rounded_(products_round()) {
  auto prepare = [&]<class Element>(const PanelKernel<Element>& kernel) {
    using Operand = PackedOperand<Element>;
    auto panels = std::make_shared<const Operand>(Operand::right(kernel, b));
    pack(Threads::all, *panels);
    multiply_ = [&kernel, panels](Scalar alpha, const ConstMatrix& a, Addend added, const Matrix& c,
                                  Threads threads) {
      packed_product(kernel, threads, alpha, a, *panels, added, c);
    };
  };
  if (rounded_)
    with_rounding_kernel(prepare);
  else
    prepare(simd::vector_kernel());
}

bool RightFactor::serves(const ConstMatrix& a, const Matrix& c) {
  return products_round() || takes_panels(a, c);
}

void RightFactor::gemm(Scalar alpha, const ConstMatrix& a, Addend added, const Matrix& c,
                       Threads threads) const {
  if (!rounded_ && !takes_panels(a, c)) return unrounded_gemm(alpha, a, b_, added, c, threads);
  if (has_products(a, b_, added, c)) multiply_(alpha, a, added, c, threads);
}

bool has_fast_bfloat16_products() { return pair_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
