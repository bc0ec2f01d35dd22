#include "core/machine/right_factor.h"

#include <memory>

#include "core/machine/bfloat16_product.h"
#include "core/machine/packed_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

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

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
