#include "ops/softmax_row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "ops/zero_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr Scalar not_a_number = std::numeric_limits<Scalar>::quiet_NaN();
constexpr Scalar none = SoftmaxRow().greatest;

}  // namespace

Scalar SoftmaxRow::raise(Scalar seen) {
  if (seen <= greatest || std::isnan(greatest)) return 1;  // a NaN stays, and a new one is taken
  Scalar kept = greatest == none ? 1 : std::exp(greatest - seen);
  greatest = seen;
  total *= kept;
  return kept;
}

void make_exponentials(const SoftmaxRow* rows, const Interval* seen, const Matrix& x,
                       Scalar* sums) {
  for (int64_t i = 0; i < x.rows;) {
    std::array<Scalar, 16> shifts;
    int64_t count = 0;  // of rows whose greatest score is finite
    for (; count < std::ssize(shifts) && i + count < x.rows; ++count) {
      shifts[count] = rows[i + count].greatest;
      if (!std::isfinite(rows[i + count].greatest)) break;
    }
    simd::exp_below(x.rows_from(i, count), seen + i, shifts.data(), sums + i);
    i += count;
    if (count > 0) continue;
    Scalar* scores = &x.at(i, seen[i].begin);
    int64_t length = seen[i].size();
    clear_outside(x, i, seen[i].begin, seen[i].end);
    sums[i] = rows[i].greatest == none ? 0 : not_a_number;
    if (sums[i] == 0)
      std::fill_n(scores, length, Scalar{0});
    else
      softmax_not_finite(scores, length);
    ++i;
  }
}

void softmax_not_finite(Scalar* y, int64_t length) {
  std::transform(y, y + length, y,
                 [](Scalar score) { return score == none ? Scalar{0} : not_a_number; });
}

void add_softmax_gradients(const ConstMatrix& p, const ConstMatrix& dp, Scalar factor, Scalar beta,
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

Tensor sink_gradient(const Tensor& p, const Tensor& dp, const Tensor& shares) {
  const int64_t B = p.size(0), H = p.size(1), T = p.size(2), K = p.size(3);
  Tensor result = Tensor::zeros({H});
  parallel_each(H, 1, [&](int64_t h) {
    for (int64_t b = 0; b < B; ++b)
      for (int64_t row = (b * H + h) * T; row < (b * H + h + 1) * T; ++row) {
        const auto of_dp = ConstMatrix::row_major(dp.data() + row * K, 1, K);
        if (is_zero(of_dp.data, K)) continue;
        Scalar mean = 0;
        simd::softmax_means(ConstMatrix::row_major(p.data() + row * K, 1, K), of_dp, &mean);
        result.mutable_data()[h] -= shares.data()[row] * mean;
      }
  });
  return result;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
