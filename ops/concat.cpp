#include "ops/concat.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor concat(std::vector<Tensor> inputs, int64_t axis) {
  std::erase_if(inputs, [](const Tensor& input) { return !input.defined(); });
  require(!inputs.empty(), "concat: no tensors");
  if (inputs.size() == 1) return inputs[0];

  Dims shape = inputs[0].shape();
  axis = normalized_axis("concat", axis, shape.size());
  shape[axis] = 0;
  for (const Tensor& input : inputs) {
    Dims others = input.shape();
    if (others.size() == shape.size()) others[axis] = shape[axis];
    require(others == shape, "concat: ", input.shape(), " beside ", inputs[0].shape(),
            " along axis ", axis);
    require(!__builtin_add_overflow(shape[axis], input.size(axis), &shape[axis]),
            "concat: ", input.shape(), " beside ", inputs[0].shape(), " along axis ", axis,
            ", which gets too long");
  }

  // Visits each input with its place in a tensor of the joined shape.
  auto for_each_place = [inputs, axis](const Tensor& joined, auto visit) {
    int64_t begin = 0;
    for (const Tensor& input : inputs) {
      visit(input, slice(joined, axis, begin, begin + input.size(axis)));
      begin += input.size(axis);
    }
  };
  Tensor y = Tensor::empty(shape);
  for_each_place(y, [](const Tensor& x, const Tensor& place) { copy_into(place, x); });
  std::vector<const Tensor*> recorded;
  for (const Tensor& input : inputs) recorded.push_back(&input);
  record(y, std::span<const Tensor* const>(recorded), [for_each_place](const Tensor& dy) {
    for_each_place(
        dy, [](const Tensor& x, const Tensor& place) { accumulate(x.open_gradient(), place); });
  });
  return y;
}

Tensor stack(const std::vector<Tensor>& parts, int64_t axis) {
  std::vector<Tensor> inputs;
  for (const Tensor& part : parts) {
    require_defined("stack", "a part", part);
    require(part.shape() == parts[0].shape(), "stack: ", part.shape(), " beside ", parts[0].shape(),
            ", expected equal shapes");
    inputs.push_back(unsqueeze(part, normalized_axis("stack", axis, part.rank() + 1)));
  }
  require(!parts.empty(), "stack: no tensors");
  return concat(inputs, axis);
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis) {
  require_defined("split", "x", x);
  require(size >= 1, "split: parts of ", size, ", expected at least 1");
  int64_t end = x.shape()[normalized_axis("split", axis, x.rank())];
  std::vector<Tensor> parts;
  for (int64_t begin = 0; begin < end || parts.empty(); begin += size)
    parts.push_back(slice(x, axis, begin, begin + std::min(size, end - begin)));
  return parts;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
