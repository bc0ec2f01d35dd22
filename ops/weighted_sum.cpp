#include "ops/weighted_sum.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/products.h"
#include "ops/shape.h"
#include "ops/zero_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns p with 0 in the rows in which all of dy is 0.
Tensor without_idle_rows(const Tensor& p, const Tensor& dy) {
  Tensor rows = contiguous(dy), kept = Tensor::empty(p.shape());
  copy_into(kept, p);
  int64_t D = dy.size(-1), K = p.size(-1);
  for (int64_t row = 0; row < dy.count() / std::max<int64_t>(D, 1); ++row) {
    if (is_zero(rows.data() + row * D, D)) std::fill_n(kept.mutable_data() + row * K, K, Scalar{0});
  }
  return kept;
}

}  // namespace

Tensor weighted_sum(const Tensor& weights, const Tensor& x) {
  require_defined("weighted_sum", "p", weights, "x", x);
  auto fits = [&](int axis) { return x.size(axis) == weights.size(axis) || x.size(axis) == 1; };
  require(
      weights.rank() == 4 && x.rank() == 4 && fits(0) && fits(1) && weights.size(3) == x.size(2),
      "weighted_sum: ", weights.shape(), " x ", x.shape(),
      ": expected [B, H, T, K] and [B or 1, H or 1, K, D]");
  Tensor p = contiguous(weights);
  int64_t B = p.size(0), H = p.size(1), T = p.size(2), K = p.size(3), D = x.size(3);
  Tensor all = expand(x, {B, H, K, D});
  Tensor y = Tensor::empty({B, H, T, D});
  multiply_matrices("weighted_sum", 1, p, all, 0, y, WeightsIn::left);
  // Where y is finite, so is all that has a weight: then nothing comes of a dy of 0 by itself.
  bool finite = is_finite(ConstMatrix::row_major(y.data(), 1, y.count()));
  record(y, {&p, &all}, [p, all, finite](const Tensor& dy) {
    Tensor kept = finite ? p : without_idle_rows(p, dy);  // [B, H, T, K]
    if (OpenGradient to = p.open_gradient()) {
      Tensor dp = to.beta == 0 ? to.target : Tensor::empty(p.shape());
      multiply_matrices("weighted_sum", 1, dy, transpose(all), 0, dp);
      Scalar* data = dp.mutable_data();
      parallel_ranges(dp.count(), 4096, [&](int64_t begin, int64_t end) {
        clear_unweighted(ConstMatrix::row_major(kept.data() + begin, 1, end - begin),
                         Matrix::row_major(data + begin, 1, end - begin));
      });
      if (to.beta != 0) accumulate(to, dp);
    }
    write_product("weighted_sum", all.open_gradient(), transpose(kept), dy, WeightsIn::left);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
