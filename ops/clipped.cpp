#include "ops/clipped.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/checked.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// What goes from one to the other.
enum class Direction { to_keys, to_buckets };

/// Adds the elements of x to those of y in their place, of […, T, K] keys and […, T, 2m+1] buckets.
void add_moved(Direction direction, const Tensor& x, const Tensor& y) {
  const bool to_keys = direction == Direction::to_keys;
  int64_t K = (to_keys ? y : x).size(-1), buckets = (to_keys ? x : y).size(-1);
  int64_t T = x.size(-2), m = buckets / 2;
  Dims rows(std::span(x.shape().begin(), x.shape().end() - 1));
  parallel_each(product(rows), 16, [&](int64_t row) {
    const Scalar* from = x.data() + row * x.size(-1);
    Scalar* to = y.mutable_data() + row * y.size(-1);
    int64_t position = K - T + row % T;
    auto bucket = [=](int64_t j) { return std::clamp(j - position, -m, m) + m; };
    if (to_keys)
      for (int64_t j = 0; j < K; ++j) to[j] += from[bucket(j)];
    else
      for (int64_t j = 0; j < K; ++j) to[bucket(j)] += from[j];
  });
}

/// Returns a tensor with `width` columns, to which x moves; its gradient moves back.
Tensor moved(Direction direction, const Tensor& input, int64_t width) {
  Tensor x = contiguous(input);
  Dims shape = x.shape();
  shape[-1] = width;
  Tensor y = Tensor::zeros(shape);
  add_moved(direction, x, y);
  record(y, {&x}, [x, direction](const Tensor& dy) {
    Tensor dx = Tensor::zeros(x.shape());
    add_moved(direction == Direction::to_keys ? Direction::to_buckets : Direction::to_keys, dy, dx);
    accumulate(x.open_gradient(), dx);
  });
  return y;
}

}  // namespace

Tensor gather_by_distance(const Tensor& x, int64_t K) {
  require_defined("gather_by_distance", "x", x);
  require(x.rank() >= 2 && x.size(-1) % 2 == 1, "gather_by_distance: ", x.shape(),
          ", expected […, T, 2m+1]");
  require(K >= 0, "gather_by_distance: ", K, " keys, expected at least 0");
  return moved(Direction::to_keys, x, K);
}

Tensor bucket_by_distance(const Tensor& x, int64_t m) {
  require_defined("bucket_by_distance", "x", x);
  require(x.rank() >= 2, "bucket_by_distance: ", x.shape(), ", expected […, T, K]");
  Within{"bucket_by_distance"}(range::zero_or_more, "m", m);
  return moved(Direction::to_buckets, x, 2 * m + 1);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
