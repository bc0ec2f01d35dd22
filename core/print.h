#pragma once

#include <ostream>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Prints the shape, the precision and the values with four digits each. An axis longer than six
/// shows its first three and its last three:
///
///     Tensor [2, 8] float
///     [[     1    2.5      3 …      6      7      8]
///      [-0.125      0      0 …      0      0 1e+10]]
///
/// PyTorch: print(x).
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
