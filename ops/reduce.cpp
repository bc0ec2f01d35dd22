#include "shiftgrad/ops/reduce.h"

#include <cmath>
#include <vector>

#include "shiftgrad/core/accumulate.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/tape.h"
#include "shiftgrad/core/walk.h"
#include "shiftgrad/ops/arithmetic.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor sum(const Tensor& x, const Dims& axes) {
  require_defined("sum", "x", x);
  Dims shape = x.shape();
  for (int64_t axis : axes) shape[normalized_axis("sum", static_cast<int>(axis), x.rank())] = 1;
  Tensor y = Tensor::zeros(shape);
  accumulate(1, expand(y, x.shape()), x);
  record(y, {&x}, [x](const Tensor& dy) { accumulate(x.gradient_sink(), expand(dy, x.shape())); });
  return y;
}

Tensor sum(const Tensor& x) {
  require_defined("sum", "x", x);
  Dims all;
  for (int axis = 0; axis < x.rank(); ++axis) all.push_back(axis);
  return reshape(sum(x, all), {});
}

Tensor mean(const Tensor& x, const Dims& axes) {
  require_defined("mean", "x", x);
  Tensor total = sum(x, axes);
  return scale(total, static_cast<Scalar>(total.count()) / static_cast<Scalar>(x.count()));
}

Tensor mean(const Tensor& x) {
  require_defined("mean", "x", x);
  return scale(sum(x), 1 / static_cast<Scalar>(x.count()));
}

Tensor maximum(const Tensor& x, int axis) {
  require_defined("maximum", "x", x);
  axis = normalized_axis("maximum", axis, x.rank());
  require(x.size(axis) > 0, "maximum: axis ", axis, " of ", x.shape(), " is empty");
  Layout first = x.layout().slice(axis, 0, 1);
  Tensor y = Tensor::empty(first.shape);
  auto positions = std::make_shared<std::vector<int64_t>>(y.count());
  const Scalar* from = x.data() - x.layout().offset;
  Scalar* to = y.mutable_data();
  int64_t step = x.layout().strides[axis];
  Walk<2>({&first, &y.layout()}).parallel([&](const auto& run) {
    for (int64_t n = 0; n < run.length; ++n) {
      int64_t start = run.at[0] + n * run.step[0], best = start;
      for (int64_t k = 1; k < x.size(axis) && !std::isnan(from[best]); ++k) {
        int64_t at = start + k * step;
        if (from[at] > from[best] || std::isnan(from[at])) best = at;
      }
      to[run.at[1] + n * run.step[1]] = from[best];
      (*positions)[run.at[1] + n * run.step[1]] = best;
    }
  });
  record(y, {&x}, [x, positions](const Tensor& dy) {
    GradientSink sink = x.gradient_sink();
    if (sink.beta == 0) accumulate(0, sink.target, expand(Tensor::zeros({}), x.shape()));
    Scalar* gradient = sink.target.mutable_data() - x.layout().offset;
    std::vector<Scalar> values = dy.values();
    for (size_t n = 0; n < values.size(); ++n) gradient[(*positions)[n]] += values[n];
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
