#include "ops/shape.h"

#include <utility>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor reshape(const Tensor& x, const Dims& shape) {
  require_defined("reshape", "x", x);
  if (auto layout = x.layout().reshape(shape)) return x.view(*layout);
  return reshape(contiguous(x), shape);
}

Tensor permute(const Tensor& x, const Dims& axes) {
  require_defined("permute", "x", x);
  return x.view(x.layout().permute(axes));
}

Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  require_defined("transpose", "x", x);
  Dims axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  std::swap(axes[normalized_axis("transpose", a, x.rank())],
            axes[normalized_axis("transpose", b, x.rank())]);
  return permute(x, axes);
}

Tensor slice(const Tensor& x, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  require_defined("slice", "x", x);
  return x.view(x.layout().slice(axis, begin, end, step));
}

Tensor select(const Tensor& x, int64_t axis, int64_t index) {
  require_defined("select", "x", x);
  return x.view(x.layout().select(axis, index));
}

Tensor flip(const Tensor& x, int64_t axis) {
  require_defined("flip", "x", x);
  return x.view(x.layout().flip(axis));
}

Tensor expand(const Tensor& x, const Dims& shape) {
  require_defined("expand", "x", x);
  return x.view(x.layout().expand(shape));
}

Tensor unsqueeze(const Tensor& x, int64_t axis) {
  require_defined("unsqueeze", "x", x);
  Layout layout = x.layout();
  axis = normalized_axis("unsqueeze", axis, x.rank() + 1);
  layout.shape.insert(axis, 1);
  layout.strides.insert(axis, 1);
  return x.view(layout);
}

Tensor squeeze(const Tensor& x, int64_t axis) {
  require_defined("squeeze", "x", x);
  return x.shape()[normalized_axis("squeeze", axis, x.rank())] == 1 ? select(x, axis, 0) : x;
}

Tensor contiguous(const Tensor& x) {
  require_defined("contiguous", "x", x);
  if (x.is_contiguous()) return x;
  Tensor y = Tensor::empty(x.shape());
  copy_into(y, x);
  record(y, {&x}, [x](const Tensor& dy) { accumulate(x.open_gradient(), dy); });
  return y;
}

Tensor split_heads(const Tensor& x, int64_t heads) {
  require_defined("split_heads", "x", x);
  require(x.rank() == 3 && heads >= 1 && x.size(2) % heads == 0, "split_heads: ", x.shape(), " in ",
          heads, " heads, expected [B, T, n·D] with n heads, at least 1");
  Tensor split = reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads});  // [B, T, n, D]
  return permute(split, {0, 2, 1, 3});                                          // [B, n, T, D]
}

Tensor merge_heads(const Tensor& x) {
  require_defined("merge_heads", "x", x);
  require(x.rank() == 4, "merge_heads: ", x.shape(), ", expected [B, n, T, D]");
  return reshape(permute(x, {0, 2, 1, 3}),
                 {x.size(0), x.size(2), x.size(1) * x.size(3)});  // [B, T, n·D]
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
