#include "ops/clipped.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Calls body(row, bucket(j)) for all rows i of a stack of [T, …]; `row` counts them through the
/// stack.
template <class Body>
void for_each_row(int64_t rows, int64_t T, int64_t K, int64_t m, Body body) {
  parallel_ranges(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t position = K - T + row % T;
      body(row, [=](int64_t j) { return std::clamp(j - position, -m, m) + m; });
    }
  });
}

/// y += gathered x.
void gather(const Tensor& x, const Tensor& y, int64_t m) {
  int64_t T = y.size(-2), K = y.size(-1), buckets = 2 * m + 1;
  for_each_row(y.count() / K, T, K, m, [&](int64_t row, auto bucket) {
    Scalar* out = y.mutable_data() + row * K;
    const Scalar* in = x.data() + row * buckets;
    for (int64_t j = 0; j < K; ++j) out[j] += in[bucket(j)];
  });
}

/// y += bucketed x.
void bucket(const Tensor& x, const Tensor& y, int64_t m) {
  int64_t T = x.size(-2), K = x.size(-1), buckets = 2 * m + 1;
  for_each_row(x.count() / K, T, K, m, [&](int64_t row, auto bucket) {
    Scalar* out = y.mutable_data() + row * buckets;
    const Scalar* in = x.data() + row * K;
    for (int64_t j = 0; j < K; ++j) out[bucket(j)] += in[j];
  });
}

using Transfer = void (*)(const Tensor& x, const Tensor& y, int64_t m);

/// Returns a tensor with `width` columns, filled by `forward`; its gradient flows back by
/// `backward`.
Tensor transferred(const Tensor& input, int64_t width, int64_t m, Transfer forward,
                   Transfer backward) {
  Tensor x = contiguous(input);
  Dims shape = x.shape();
  shape[-1] = width;
  Tensor y = Tensor::zeros(shape);
  forward(x, y, m);
  record(y, {&x}, [x, m, backward](const Tensor& dy) {
    Tensor dx = Tensor::zeros(x.shape());
    backward(dy, dx, m);
    accumulate(x.gradient_sink(), dx);
  });
  return y;
}

}  // namespace

Tensor gather_by_distance(const Tensor& x, int64_t K) {
  require_defined("gather_by_distance", "x", x);
  require(x.rank() >= 2 && x.size(-1) % 2 == 1 && K >= 1, "gather_by_distance: ", x.shape(),
          " for ", K, " keys, expected […, T, 2m+1]");
  return transferred(x, K, x.size(-1) / 2, gather, bucket);
}

Tensor bucket_by_distance(const Tensor& x, int64_t m) {
  require_defined("bucket_by_distance", "x", x);
  require(x.rank() >= 2 && x.size(-1) >= 1 && m >= 0, "bucket_by_distance: ", x.shape(),
          " for a clipping distance of ", m, ", expected […, T, K]");
  return transferred(x, 2 * m + 1, m, bucket, gather);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
