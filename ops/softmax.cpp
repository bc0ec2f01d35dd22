#include "ops/softmax.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/softmax_row.h"
#include "ops/zero_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// dx = beta dx + the gradient of softmax(factor x) for a few rows p of it. A row of dp that is 0
/// passes none on, even where p is NaN.
void add_gradients(const ConstMatrix& p, const ConstMatrix& dp, Scalar factor, Scalar beta,
                   const Matrix& dx) {
  std::vector<Scalar> means(p.rows);
  simd::softmax_means(p, dp, means.data());
  if (is_finite(ConstMatrix::row_major(means.data(), 1, p.rows)))
    return simd::softmax_gradients(p, dp, means.data(), factor, beta, dx);
  for (int64_t i = 0; i < p.rows; ++i) {
    const ConstMatrix of_dp = dp.rows_from(i, 1);
    const Matrix of_dx = dx.rows_from(i, 1);
    if (is_zero(of_dp.data, dp.columns))
      simd::axpby(0, of_dp.data, beta, of_dx.data, dp.columns);
    else
      simd::softmax_gradients(p.rows_from(i, 1), of_dp, &means[i], factor, beta, of_dx);
  }
}

}  // namespace

Tensor masked_softmax(const Tensor& scores, const Visibility& visibility, Scalar factor) {
  require_defined("masked_softmax", "scores", scores);
  require(scores.rank() == 4, "softmax: scores of ", scores.shape(), ", expected [B, H, T, K]");
  int64_t B = scores.size(0), T = scores.size(2), K = scores.size(3);
  visibility.check("softmax", B, T, K);
  Tensor p = Tensor::empty(scores.shape());
  accumulate(0, p, scores, factor);
  Scalar* probabilities = p.mutable_data();
  int64_t rows = B * scores.size(1) * T;
  parallel_each(rows, 32, [&](int64_t row) {
    int64_t b = row / (scores.size(1) * T), i = row % T;
    Scalar* y = probabilities + row * K;
    auto [begin, end] = visibility.range(i, T, K);
    std::fill(y, y + std::min(begin, K), Scalar{0});
    std::fill(y + std::clamp<int64_t>(end, 0, K), y + K, Scalar{0});
    const uint8_t *pads = visibility.padding_row(b), *hides = visibility.hidden_row(b, i);
    for (int64_t j = begin; (pads || hides) && j < end; ++j)
      if ((pads && pads[j]) || (hides && hides[j])) y[j] = -std::numeric_limits<Scalar>::infinity();
    if (begin < end) softmax_row(y + begin, end - begin);
  });
  record(p, {&scores}, [scores, p, factor, rows, K](const Tensor& dp) {
    write_gradient(scores.open_gradient(), [&](const Tensor& dx, Scalar beta) {
      const auto of_p = ConstMatrix::row_major(p.data(), rows, K);
      const auto of_dp = ConstMatrix::row_major(dp.data(), rows, K);
      const auto of_dx = Matrix::row_major(dx.mutable_data(), rows, K);
      parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
        add_gradients(of_p.rows_from(begin, end - begin), of_dp.rows_from(begin, end - begin),
                      factor, beta, of_dx.rows_from(begin, end - begin));
      });
    });
  });
  return p;
}

Tensor softmax(const Tensor& x) {
  require_defined("softmax", "x", x);
  require(x.rank() >= 1, "softmax: ", x.shape(), ", expected at least one axis");
  int64_t K = x.size(-1);
  Tensor rows = reshape(x, {1, 1, K == 0 ? 0 : x.count() / K, K});  // [1, 1, rows, K]
  return reshape(masked_softmax(rows, {}, 1), x.shape());
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  require_defined("log_softmax", "x", x);
  axis = normalized_axis("log_softmax", axis, x.rank());
  if (x.size(axis) == 0) return x;
  Tensor below = x - maximum(x.detach(), axis, true);  // any number would do, so it is constant
  return below - log(sum(exp(below), {axis}, true));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
