#pragma once

#include <numeric>
#include <vector>

#include "core/tensor.h"

namespace shiftgrad::test {

/// 0, 1, 2, …
inline Tensor counting(const Dims& shape) {
  std::vector<Scalar> values(static_cast<size_t>(product(shape)));
  std::iota(values.begin(), values.end(), Scalar{0});
  return Tensor::from(shape, values);
}

}  // namespace shiftgrad::test
