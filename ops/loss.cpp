#include "ops/loss.h"

#include <cmath>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/parallel.h"
#include "core/simd.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

constexpr int64_t rows_per_tile = 32;

void check(const Tensor& logits, const Tokens& targets) {
  Dims expected = targets.shape;
  expected.push_back(logits.rank() > 0 ? logits.size(-1) : 0);
  require(logits.shape() == expected && logits.count() > 0, "cross_entropy: logits of ",
          logits.shape(), " for targets of ", targets.shape, ", expected […, V] and […]");
  require_complete("cross_entropy", "targets", targets);
  for (int32_t target : targets.values)
    require(0 <= target && target < logits.size(-1), "cross_entropy: target ", target,
            ", expected 0 to ", logits.size(-1) - 1);
}

/// Of one row of logits: p = softmax(row), and -log p[target] without passing through p.
double softmax_loss(const Scalar* row, int64_t V, int32_t target, Scalar* p) {
  Scalar greatest = simd::maximum(row, V);
  Scalar total = simd::exp_minus(row, greatest, p, V);
  simd::axpby(1 / total, p, 0, p, V);
  // The two logits first: of great ones the difference is exact, and log(total) would drown in one.
  return std::log(static_cast<double>(total)) +
         (static_cast<double>(greatest) - static_cast<double>(row[target]));
}

/// The losses of all rows, and their softmax in `probabilities` [N, V].
std::vector<double> softmax_losses(const Tensor& logits, const Tokens& targets,
                                   const Tensor& probabilities) {
  int64_t V = logits.size(-1);
  std::vector<double> losses(targets.values.size());
  Scalar* p = probabilities.mutable_data();
  parallel_ranges(logits.count() / V, rows_per_tile, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      losses[n] = softmax_loss(logits.data() + n * V, V, targets.values[n], p + n * V);
  });
  return losses;
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tokens& targets) {
  check(input, targets);
  Tensor logits = contiguous(input);
  Tensor probabilities = Tensor::empty(logits.shape());
  double total = 0;
  for (double loss : softmax_losses(logits, targets, probabilities)) total += loss;
  auto N = static_cast<double>(targets.values.size());
  Tensor mean = Tensor::full({}, static_cast<Scalar>(total / N));
  record(mean, {&logits}, [logits, targets, probabilities, N](const Tensor& dmean) {
    // dlogits = (p - onehot(target)) / N
    int64_t V = logits.size(-1);
    for (size_t n = 0; n < targets.values.size(); ++n)
      probabilities.mutable_data()[n * V + targets.values[n]] -= 1;
    accumulate(logits.gradient_sink(), probabilities,
               static_cast<Scalar>(static_cast<double>(dmean.item()) / N));
  });
  return mean;
}

std::vector<double> token_losses(const Tensor& logits, const Tokens& targets) {
  check(logits, targets);
  return softmax_losses(contiguous(logits), targets, Tensor::empty(logits.shape()));
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
