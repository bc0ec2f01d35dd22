#include "context_losses.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/tape.h"
#include "examples/apps/draw/finite.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/batches.h"

namespace char_lm {

using shiftgrad::rows_at;

std::vector<double> context_losses(const shiftgrad::LanguageModel& model,
                                   std::span<const int32_t> text,
                                   std::span<const int64_t> positions, int64_t length,
                                   const std::function<void(int64_t done)>& progress) {
  constexpr int64_t tokens_at_once = 8192;
  auto most = static_cast<size_t>(std::max<int64_t>(1, tokens_at_once / length));
  shiftgrad::Tape::Pause no_gradients;
  shiftgrad::Context context;
  std::vector<double> losses;
  while (!positions.empty()) {
    const size_t count = std::min(most, positions.size());
    const std::vector<int64_t> targets(positions.begin(), positions.begin() + count);
    positions = positions.subspan(count);
    shiftgrad::Tensor logits =
        model(rows_at(text, targets, -length, 0), shiftgrad::Memory(), context)
            .logits;                                // [B, length, V]
    logits = slice(logits, 1, length - 1, length);  // [B, 1, V]
    std::vector<double> found = token_losses(logits, rows_at(text, targets, 0, 1));
    losses.insert(losses.end(), found.begin(), found.end());
    if (progress) progress(std::ssize(losses) * length);
  }
  return losses;
}

MeanLoss mean_loss(std::span<const double> nats) {
  auto count = static_cast<double>(nats.size());
  double mean = std::accumulate(nats.begin(), nats.end(), 0.0) / count, squares = 0;
  for (double loss : nats) squares += (loss - mean) * (loss - mean);
  double error = nats.size() > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
  return {apps::finite(mean, "the loss") / std::numbers::ln2, error / std::numbers::ln2};
}

}  // namespace char_lm
