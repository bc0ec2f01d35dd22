#include "ops/indexing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/tape.h"
#include "core/walk.h"
#include "ops/lines.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Calls body(x, y) for the places of x[…, indices[…, n, …], …] and of y[…, n, …], in the order of
/// the indices. y is dense.
void for_each_gathered(Layout x, int64_t axis, const Tokens& indices, auto body) {
  int64_t step = x.strides[axis], to = 0;
  x.shape = indices.shape;
  x.strides[axis] = 0;
  Walk<1>({&x}).each(0, x.count(), [&](const auto& at) {
    body(at[0] + indices.values[to] * step, to);
    ++to;
  });
}

/// Returns the indices of the k greatest elements along the axis, the greatest first.
Tokens greatest(const char* operation, const Tensor& x, int64_t k, int64_t axis) {
  require_defined(operation, "x", x);
  axis = normalized_axis(operation, axis, x.rank());
  int64_t length = x.size(axis), step = x.layout().strides[axis];
  require(0 <= k && k <= length, operation, ": ", k, " of axis ", axis, " of ", x.shape(),
          ", expected 0 to ", length);
  constexpr int64_t longest = std::numeric_limits<int32_t>::max();
  require(length <= longest, operation, ": axis ", axis, " of ", x.shape(),
          ", expected a size of at most ", longest);
  Dims shape = x.shape();
  shape[axis] = k;
  Layout layout = Layout::contiguous(shape);
  Tokens indices{shape, {}};
  within_memory([&] { indices.values.resize(layout.count()); }, operation, ": indices of ", shape);
  const Scalar* from = x.data() - x.layout().offset;
  for_each_line(x.layout(), layout, axis, [&](int64_t first, int64_t to) {
    auto before = [&](int32_t a, int32_t b) {
      Scalar p = from[first + a * step], q = from[first + b * step];
      if (std::isnan(p) != std::isnan(q)) return std::isnan(p);
      return p > q || (!(p < q) && a < b);
    };
    std::vector<int32_t> order;
    within_memory([&] { order.resize(length); }, operation, ": order of ", length, " elements");
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
    for (int64_t n = 0; n < k; ++n) indices.values[to + n * layout.strides[axis]] = order[n];
  });
  return indices;
}

}  // namespace

Tensor gather(const Tensor& x, int64_t axis, const Tokens& indices) {
  require_defined("gather", "x", x);
  require_complete("gather", "indices", indices);
  axis = normalized_axis("gather", axis, x.rank());
  Dims most = x.shape();
  most[axis] = std::numeric_limits<int64_t>::max();
  require(indices.shape.size() == x.rank(), "gather: indices of ", indices.shape, " for ",
          x.shape(), ", expected as many axes");
  require(std::equal(indices.shape.begin(), indices.shape.end(), most.begin(), most.end(),
                     std::less_equal{}),
          "gather: indices of ", indices.shape, " along axis ", axis, " of ", x.shape(),
          ", expected no larger sizes");
  for (int32_t index : indices.values)
    require(0 <= index && index < x.size(axis), "gather: index ", index, " into axis ", axis,
            " of ", x.shape(), ", expected 0 to ", x.size(axis) - 1);
  Tensor y = Tensor::empty(indices.shape);
  for_each_gathered(x.layout(), axis, indices,
                    [data = x.data() - x.layout().offset, out = y.mutable_data()](
                        int64_t from, int64_t to) { out[to] = data[from]; });
  record(y, {&x}, [x, axis, indices](const Tensor& dy) {
    Tensor dx = Tensor::zeros(x.shape());
    for_each_gathered(
        dx.layout(), axis, indices,
        [&, sums = dx.mutable_data()](auto to, auto from) { sums[to] += dy.data()[from]; });
    accumulate(x.open_gradient(), dx);
  });
  return y;
}

Tokens argmax(const Tensor& x, int64_t axis, bool keepdim) {
  require_defined("argmax", "x", x);
  require(x.shape()[normalized_axis("argmax", axis, x.rank())] > 0, "argmax: axis ", axis, " of ",
          x.shape(), " is empty");
  Tokens indices = greatest("argmax", x, 1, axis);
  if (!keepdim) indices.shape.erase(axis < 0 ? axis + x.rank() : axis);
  return indices;
}

TopK topk(const Tensor& x, int64_t k, int64_t axis) {
  Tokens indices = greatest("topk", x, k, axis);
  return {gather(x, axis, indices), indices};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
