#pragma once

#include <array>

#include "core/named.h"

namespace shiftgrad {

/// How the operands of a product are rounded before they are multiplied. Sums are kept in float,
/// and so is everything between products.
enum class Precision { float32, bfloat16 };
constexpr auto names(Precision) { return std::array{"float32", "bfloat16"}; }

/// Chooses for the whole process how `gemm` rounds floats from now on: those of linear layers,
/// attention, AFT and recurrent nets, forward and backward. The default is float32, which does not
/// round. Doubles are never rounded, nor is what up to 8 tokens multiply with a cache, as rounding
/// that would take longer than the product. No product may run meanwhile.
/// (PyTorch: torch.set_float32_matmul_precision, "highest" and "medium")
void set_product_precision(Precision precision);

/// Returns the precision that was chosen. (PyTorch: torch.get_float32_matmul_precision)
Precision product_precision();

}  // namespace shiftgrad
