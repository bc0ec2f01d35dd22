#include "ops/loss.h"

#include <algorithm>
#include <cmath>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/shape.h"
#include "ops/softmax.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Sets p = softmax(row) for one row of logits, and returns -log p[target] without passing through
/// p.
double softmax_loss(const Scalar* row, int64_t V, int32_t target, Scalar* p) {
  Scalar greatest = simd::maximum(row, V);
  Scalar total = softmax_below(row, greatest, p, V);
  // The two logits come first: the difference of great ones is exact, and log(total) would drown in
  // one.
  return std::log(static_cast<double>(total)) +
         (static_cast<double>(greatest) - static_cast<double>(row[target]));
}

/// What label smoothing adds to a row's loss: ε (x_target - mean x).
double smoothing_loss(const Scalar* row, int64_t V, int32_t target, double smoothing) {
  if (smoothing == 0) return 0;
  double sum = 0;
  for (int64_t v = 0; v < V; ++v)
    sum += static_cast<double>(row[target]) - static_cast<double>(row[v]);
  return smoothing * sum / static_cast<double>(V);
}

/// Replaces p by p - t.
void subtract_target(Scalar* p, int64_t V, int32_t target, double smoothing) {
  double share = smoothing / static_cast<double>(V);
  p[target] -= static_cast<Scalar>(1 - static_cast<double>(V - 1) * share);
  if (share == 0) return;
  for (int64_t v = 0; v < V; ++v)
    if (v != target) p[v] -= static_cast<Scalar>(share);
}

/// Returns the losses of all rows, and writes their slopes p - t into `slopes` [N, V]. Both are 0
/// for ignored rows.
std::vector<double> softmax_losses(const Tensor& logits, const Tokens& targets,
                                   const CrossEntropyOptions& options, const Tensor& slopes) {
  int64_t V = logits.size(-1);
  std::vector<double> losses(targets.values.size());
  Scalar* all = slopes.mutable_data();
  parallel_each(logits.count() / V, 32, [&](int64_t n) {
    int32_t target = targets.values[n];
    Scalar* slope = all + n * V;
    if (target == options.ignored) return void(std::fill_n(slope, V, Scalar{0}));
    const Scalar* row = logits.data() + n * V;
    losses[n] = softmax_loss(row, V, target, slope) +
                smoothing_loss(row, V, target, options.label_smoothing);
    subtract_target(slope, V, target, options.label_smoothing);
  });
  return losses;
}

void check(const char* operation, const Tensor& logits, const Tokens& targets,
           const CrossEntropyOptions& options = {}) {
  require_defined(operation, "logits", logits);
  Dims expected = targets.shape;
  expected.push_back(logits.rank() > 0 ? logits.size(-1) : 0);
  require(logits.rank() > 0 && logits.shape() == expected, operation, ": logits of ",
          logits.shape(), " for targets of ", targets.shape, ", expected […, V] and […]");
  require(logits.count() > 0, operation, ": logits of ", logits.shape(),
          ", expected at least one row and one token");
  require_complete(operation, "targets", targets);
  double smoothing = options.label_smoothing;
  require(0 <= smoothing && smoothing <= 1, operation, ": label_smoothing ", smoothing,
          ", expected 0 to 1");
  for (int32_t target : targets.values)
    require(target == options.ignored || (0 <= target && target < logits.size(-1)), operation,
            ": target ", target, ", expected 0 to ", logits.size(-1) - 1);
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tokens& targets,
                     const CrossEntropyOptions& options) {
  check("cross_entropy", input, targets, options);
  auto N = static_cast<double>(std::ranges::count_if(
      targets.values, [&](int32_t target) { return target != options.ignored; }));
  require(N > 0, "cross_entropy: every target is the ignored one, ", options.ignored.value_or(0));
  Tensor logits = contiguous(input);
  Tensor slopes = Tensor::empty(logits.shape());  // p - t
  double total = 0;
  for (double loss : softmax_losses(logits, targets, options, slopes)) total += loss;
  Tensor mean = Tensor::full({}, static_cast<Scalar>(total / N));
  record(mean, {&logits}, [logits, slopes, N](const Tensor& dmean) {
    // dlogits = (p - t) / N
    accumulate(logits.open_gradient(), slopes,
               static_cast<Scalar>(static_cast<double>(dmean.item()) / N));
  });
  return mean;
}

std::vector<double> token_losses(const Tensor& logits, const Tokens& targets) {
  check("token_losses", logits, targets);
  return softmax_losses(contiguous(logits), targets, {}, Tensor::empty(logits.shape()));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
