#include "core/machine/bfloat16_product.h"

#include <atomic>

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

bool has_fast_bfloat16_products() { return pair_kernel() != nullptr; }

void allow_fast_bfloat16_products(bool allowed) { fast_is_allowed = allowed; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
