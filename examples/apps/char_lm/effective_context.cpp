#include "effective_context.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace char_lm {

namespace {

constexpr double least_gain = 0.01;

/// Returns b(c, t) for all t, where c is the n-th length.
std::vector<double> baseline(const std::vector<ModelLosses>& losses, size_t n) {
  auto known = [n](const ModelLosses& model) { return model[std::min(n, model.size() - 1)]; };
  std::vector<double> best = known(losses.front());
  for (const ModelLosses& model : losses) {
    const std::vector<double>& own = known(model);
    for (size_t t = 0; t < best.size(); ++t) best[t] = std::min(best[t], own[t]);
  }
  return best;
}

/// Returns the positions of the largest values, a share r of all, rounded up.
std::vector<size_t> hardest(const std::vector<double>& losses, double r) {
  std::vector<size_t> order(losses.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return losses[a] > losses[b]; });
  order.resize(static_cast<size_t>(std::ceil(r * static_cast<double>(order.size()))));
  return order;
}

/// Returns g(c, c') of a model from b(c, ·) and its own l(c', ·).
double gain(const std::vector<double>& before, const std::vector<double>& after, double r) {
  double difference = 0;  // f(c, c') - f(c, c), where f(c, c) is the mean of b(c, t)
  std::vector<size_t> positions = hardest(before, r);
  for (size_t t : positions) difference += std::min(0.0, after[t] - before[t]);
  return 1 - std::exp(difference / static_cast<double>(positions.size()));
}

}  // namespace

std::vector<EffectiveContext> effective_context(const std::vector<ModelLosses>& losses,
                                                const std::vector<int64_t>& lengths, double r) {
  std::vector<EffectiveContext> result;
  for (const ModelLosses& model : losses) {
    size_t n = 0;
    while (n + 1 < model.size() && gain(baseline(losses, n), model[n + 1], r) >= least_gain) ++n;
    result.push_back({lengths[n], n + 1 == lengths.size()});
  }
  return result;
}

}  // namespace char_lm
