#include "ops/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/softmax_row.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Scalar softmax_below(const Scalar* x, Scalar greatest, Scalar* y, int64_t length, Scalar beside) {
  Scalar total = beside + simd::exp_minus(x, greatest, y, length);  // each at most 1
  simd::axpby(1 / total, y, 0, y, length);
  return total;
}

namespace {

/// Hides keys in the scores y [K] of query i: those outside of its range, which it returns, get
/// 0, and those inside that it does not see get -inf.
Interval hide_keys(Scalar* y, const Visibility& visibility, int64_t b, int64_t i, int64_t T,
                   int64_t K) {
  const Interval range = visibility.range(b, i, T, K);
  std::fill(y, y + std::min(range.begin, K), Scalar{0});
  std::fill(y + std::clamp<int64_t>(range.end, 0, K), y + K, Scalar{0});
  const uint8_t *pads = visibility.padding_row(b), *hides = visibility.hidden_row(b, i);
  const Interval gap = visibility.gap(i, T, K);
  if (!pads && !hides && gap.size() <= 0) return range;
  for (int64_t j = range.begin; j < range.end; ++j)
    if ((pads && pads[j]) || (hides && hides[j]) || gap.contains(j))
      y[j] = -std::numeric_limits<Scalar>::infinity();
  return range;
}

/// Turns the scores of a row into its probabilities, in place, beside a logit of which it returns
/// the share. -inf marks a hidden key, and a logit that is none.
Scalar softmax_row(Scalar* y, int64_t length, Scalar logit) {
  Scalar greatest = simd::maximum(y, length);
  if (greatest < logit) greatest = logit;  // a NaN stays
  if (!std::isfinite(greatest)) {
    softmax_not_finite(y, length);
    return 0;
  }
  const Scalar own = std::exp(logit - greatest);
  return own / softmax_below(y, greatest, y, length, own);
}

/// dx = beta dx + factor p (dp - Σ p dp) for each row of K probabilities.
void add_row_gradients(const Tensor& p, const Tensor& dp, Scalar factor, Scalar beta,
                       const Tensor& dx) {
  const int64_t rows = p.size(0) * p.size(1) * p.size(2), K = p.size(3);
  const auto of_p = ConstMatrix::row_major(p.data(), rows, K);
  const auto of_dp = ConstMatrix::row_major(dp.data(), rows, K);
  const auto of_dx = Matrix::row_major(dx.mutable_data(), rows, K);
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    add_softmax_gradients(of_p.rows_from(begin, end - begin), of_dp.rows_from(begin, end - begin),
                          factor, beta, of_dx.rows_from(begin, end - begin));
  });
}

}  // namespace

Tensor masked_softmax(const Tensor& scores, const Visibility& visibility, Scalar factor,
                      const Tensor& sink) {
  require_defined("masked_softmax", "scores", scores);
  require(scores.rank() == 4, "softmax: scores of ", scores.shape(), ", expected [B, H, T, K]");
  int64_t B = scores.size(0), H = scores.size(1), T = scores.size(2), K = scores.size(3);
  visibility.check("softmax", B, T, K);
  const Tensor logits = sink.defined() ? contiguous(sink) : sink;  // [H]
  require(!sink.defined() || sink.shape() == Dims{H}, "softmax: sink ", sink.shape(), ", expected ",
          Dims{H});
  Tensor shares = sink.defined() ? Tensor::zeros({B, H, T}) : sink;  // of the sink
  Tensor p = Tensor::empty(scores.shape());
  accumulate(0, p, scores, factor);
  Scalar* probabilities = p.mutable_data();
  parallel_each(B * H * T, 32, [&](int64_t row) {
    int64_t b = row / (H * T), h = row / T % H, i = row % T;
    Scalar* y = probabilities + row * K;
    auto [begin, end] = hide_keys(y, visibility, b, i, T, K);
    if (begin >= end) return;
    const Scalar share = softmax_row(y + begin, end - begin,
                                     sink.defined() ? logits.data()[h] : SoftmaxRow().greatest);
    if (sink.defined()) shares.mutable_data()[row] = share;
  });
  record(p, {&scores, &sink}, [scores, sink, shares, p, factor](const Tensor& dp) {
    if (sink.requires_gradient()) accumulate(sink.open_gradient(), sink_gradient(p, dp, shares));
    write_gradient(scores.open_gradient(), [&](const Tensor& dx, Scalar beta) {
      add_row_gradients(p, dp, factor, beta, dx);
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
