#include "ops/reduce.h"

#include <cstdlib>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/tape.h"
#include "ops/arithmetic.h"
#include "ops/indexing.h"
#include "ops/lines.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor sum(const Tensor& x, const Dims& axes, bool keepdim) {
  require_defined("sum", "x", x);
  Dims kept = x.shape(), dropped;
  for (int64_t axis : axes) {
    int64_t& size = kept[normalized_axis("sum", axis, x.rank())];
    require(size >= 0, "sum: axes ", axes, " of ", x.shape(), " name one twice");
    size = -1;
  }
  for (int64_t& size : kept) {
    if (size >= 0) dropped.push_back(size);
    size = std::abs(size);
  }
  Tensor y = Tensor::zeros(kept);
  accumulate(1, expand(y, x.shape()), x);
  record(y, {&x}, [x](const Tensor& dy) { accumulate(x.open_gradient(), expand(dy, x.shape())); });
  return keepdim ? y : reshape(y, dropped);
}

Tensor sum(const Tensor& x) {
  require_defined("sum", "x", x);
  Dims all;
  for (int axis = 0; axis < x.rank(); ++axis) all.push_back(axis);
  return sum(x, all);
}

Tensor mean(const Tensor& x, const Dims& axes, bool keepdim) {
  require_defined("mean", "x", x);
  Tensor total = sum(x, axes, keepdim);
  return scale(total, static_cast<Scalar>(total.count()) / static_cast<Scalar>(x.count()));
}

Tensor mean(const Tensor& x) {
  require_defined("mean", "x", x);
  return scale(sum(x), 1 / static_cast<Scalar>(x.count()));
}

Tensor maximum(const Tensor& x, int64_t axis, bool keepdim) {
  require_defined("maximum", "x", x);
  axis = normalized_axis("maximum", axis, x.rank());
  require(x.size(axis) > 0, "maximum: axis ", axis, " of ", x.shape(), " is empty");
  Tensor y = gather(x, axis, argmax(x, axis, true));
  return keepdim ? y : squeeze(y, axis);
}

namespace {

/// Returns the running sums. Nothing is recorded.
Tensor running_sums(const Tensor& x, int64_t axis) {
  Tensor y = Tensor::empty(x.shape());
  const Scalar* from = x.data() - x.layout().offset;
  Scalar* to = y.mutable_data();
  int64_t x_step = x.layout().strides[axis], y_step = y.layout().strides[axis];
  for_each_line(x.layout(), y.layout(), axis, [&](int64_t in, int64_t out) {
    double total = 0;
    for (int64_t n = 0; n < x.size(axis); ++n) {
      total += static_cast<double>(from[in + n * x_step]);
      to[out + n * y_step] = static_cast<Scalar>(total);
    }
  });
  return y;
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis) {
  require_defined("cumsum", "x", x);
  axis = normalized_axis("cumsum", axis, x.rank());
  Tensor y = running_sums(x, axis);
  record(y, {&x}, [x, axis](const Tensor& dy) {  // dx_n = dy_n + dy_{n+1} + …
    accumulate(x.open_gradient(), flip(running_sums(flip(dy, axis), axis), axis));
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
