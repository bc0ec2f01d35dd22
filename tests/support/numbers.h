#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"
#include "tests/support/bounded.h"
#include "tests/support/indices.h"

namespace shiftgrad::test {

/// What oracles compute with: a dense row-major array of numbers with error bounds.
struct Numbers {
  Dims shape;
  std::vector<Bounded> values;

  Numbers() = default;
  /// All zero.
  explicit Numbers(const Dims& dims) : shape(dims), values(static_cast<size_t>(product(dims))) {}

  Bounded& at(const Dims& index) {
    int64_t n = 0;
    for (int axis = 0; axis < index.size(); ++axis) n = n * shape[axis] + index[axis];
    return values[static_cast<size_t>(n)];
  }
  const Bounded& at(const Dims& index) const { return const_cast<Numbers*>(this)->at(index); }

  /// x(b, i, j)
  template <class... Index>
  Bounded& operator()(Index... index) {
    int64_t n = 0;
    int axis = 0;
    ((n = n * shape[axis++] + static_cast<int64_t>(index)), ...);
    return values[static_cast<size_t>(n)];
  }
  template <class... Index>
  const Bounded& operator()(Index... index) const {
    return const_cast<Numbers&>(*this)(index...);
  }

  /// The element that broadcasting to a larger shape puts at `index` of that shape.
  const Bounded& broadcast(const Dims& index) const {
    Dims own = shape;
    for (int axis = 1; axis <= shape.size(); ++axis)
      own[-axis] = shape[-axis] == 1 ? 0 : index[-axis];
    return at(own);
  }
};

/// A tensor's values, exact, read element by element from its layout.
inline Numbers numbers(const Tensor& x) {
  Numbers result(x.shape());
  const Scalar* first = x.data() - x.layout().offset;
  for_each_index(x.shape(), [&](const Dims& index) {
    result.at(index) = static_cast<double>(first[position(x.layout(), index)]);
  });
  return result;
}

}  // namespace shiftgrad::test
