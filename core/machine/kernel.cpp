#include "core/machine/kernel.h"

#include <atomic>

#include "core/machine/blas.h"
#include "core/machine/kernels.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

std::atomic<bool> fast_is_allowed = true;

/// Returns the kernel for pairs of bfloat16 numbers, or null.
const PanelKernel* pair_kernel() {
  for (auto kernel : pair_kernels)
    if (const PanelKernel* fits = fast_is_allowed ? kernel() : nullptr) return fits;
  return nullptr;
}

}  // namespace

bool products_round(Precision precision) {
  return sizeof(Scalar) == sizeof(float) && precision == Precision::bfloat16;
}

const PanelKernel& panel_kernel(Precision precision) {
  if (!products_round(precision)) return simd::vector_kernel();
  const PanelKernel* pairs = pair_kernel();
  return pairs ? *pairs : simd::rounding_kernel();
}

const PanelKernel& weights_kernel(Precision precision) {
  const PanelKernel& usual = panel_kernel(precision);
  return &usual == &simd::rounding_kernel() ? simd::compact_kernel() : usual;
}

const PanelKernel* kernel_for(const ProductShape& shape, Precision precision) {
  return products_round(precision) || !blas_is_faster(shape) ? &panel_kernel(precision) : nullptr;
}

bool has_fast_bfloat16_products() { return pair_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
