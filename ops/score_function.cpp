#include "ops/score_function.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/dense_rows.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void ScoreFunction::backward(const ScoreRow&, const Scalar*, Scalar*) const {
  fail("score function: parameters ", parameters.shape(), " without a backward() of its own");
}

SoftCap::SoftCap(double most) : cap(static_cast<Scalar>(most)) {
  require(cap > 0 && std::isfinite(cap) && std::isfinite(1 / cap), "soft cap: ", most,
          ", expected a number above 0 within the range of the tensors");
}

void SoftCap::forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const {
  simd::soft_cap(cap, scores, slopes, row.count);
}

const Scalar* parameters_of_head(const Tensor& parameters, int64_t h) {
  if (!parameters.defined()) return nullptr;
  return parameters.data() + (parameters.size(0) == 1 ? 0 : h * parameters.layout().strides[0]);
}

void check_score_function(const char* operation, const ScoreFunction& function, int64_t H) {
  const Tensor& p = function.parameters;
  require(!p.defined() || (p.rank() == 2 && (p.size(0) == H || p.size(0) == 1)), operation,
          ": parameters of the score function ", p.shape(), ", expected [", H, " or 1, n]");
}

Tensor apply_score_function(const std::shared_ptr<const ScoreFunction>& function,
                            const Tensor& scores, Scalar factor, const Visibility& visibility) {
  const int64_t B = scores.size(0), H = scores.size(1), T = scores.size(2), K = scores.size(3);
  check_score_function("apply_score_function", *function, H);
  const Tensor parameters = with_dense_rows(function->parameters);
  auto row_of = [=](int64_t n) {
    const int64_t b = n / T / H, h = n / T % H, i = n % T;
    const Interval seen = visibility.range(b, i, T, K);
    return ScoreRow{b,
                    h,
                    K - T + i,
                    seen.begin,
                    std::max<int64_t>(seen.size(), 0),
                    parameters_of_head(parameters, h)};
  };
  Tensor y = Tensor::empty(scores.shape());
  accumulate(0, y, scores, factor);
  const bool records = recording(std::array{&scores, &parameters});
  const Tensor slopes = records ? Tensor::zeros(scores.shape()) : Tensor();
  parallel_each(B * H * T, 16, [&](int64_t n) {
    const ScoreRow row = row_of(n);
    const int64_t first = n * K + row.first_key;
    if (row.count > 0)
      function->forward(row, y.mutable_data() + first,
                        records ? slopes.mutable_data() + first : nullptr);
  });
  record(y, {&scores, &parameters}, [=](const Tensor& dy) {
    Tensor dscores = Tensor::empty(scores.shape());
    parallel_each(B * H * T, 16, [&](int64_t n) {
      simd::zip(simd::Binary::weigh, dy.data() + n * K, slopes.data() + n * K,
                dscores.mutable_data() + n * K, K);
    });
    if (scores.requires_gradient()) accumulate(scores.open_gradient(), dscores, factor);
    if (!parameters.requires_gradient()) return;
    Tensor sums = Tensor::zeros({B, H, parameters.size(1)});
    parallel_each(B * H, 1, [&](int64_t head) {
      for (int64_t n = head * T; n < (head + 1) * T; ++n)
        if (const ScoreRow row = row_of(n); row.count > 0)
          function->backward(row, dy.data() + n * K + row.first_key,
                             sums.mutable_data() + head * parameters.size(1));
    });
    accumulate(expand(parameters, sums.shape()).open_gradient(), sums);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
