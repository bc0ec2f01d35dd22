#include "examples/apps/char_lm/effective_context.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/random.h"

using char_lm::effective_context;
using char_lm::EffectiveContext;
using char_lm::ModelLosses;

namespace {

/// The definition, step by step.
int64_t naive(const std::vector<ModelLosses>& losses, const std::vector<int64_t>& lengths, double r,
              size_t model) {
  for (size_t n = 0; n + 1 < lengths.size(); ++n) {
    std::vector<std::pair<double, double>> positions;  // b(c, t), l(c', t)
    for (size_t t = 0; t < losses[0][0].size(); ++t) {
      double best = losses[0][n][t];
      for (const ModelLosses& other : losses) best = std::min(best, other[n][t]);
      positions.emplace_back(best, losses[model][n + 1][t]);
    }
    std::sort(positions.begin(), positions.end(), std::greater<>());
    auto count = static_cast<size_t>(std::ceil(r * static_cast<double>(positions.size())));
    double same = 0, longer = 0;  // f(c, c), f(c, c')
    for (size_t k = 0; k < count; ++k) {
      same += positions[k].first / static_cast<double>(count);
      longer += std::min(positions[k].first, positions[k].second) / static_cast<double>(count);
    }
    if ((std::exp(same) - std::exp(longer)) / std::exp(same) < 0.01) return lengths[n];
  }
  return lengths.back();
}

std::vector<int64_t> lengths_of(const std::vector<EffectiveContext>& contexts) {
  std::vector<int64_t> result;
  for (const EffectiveContext& context : contexts) result.push_back(context.length);
  return result;
}

}  // namespace

TEST_CASE("effective context: equals the definition") {
  const std::vector<int64_t> lengths = {4, 8, 12, 16, 20, 24};
  std::set<int64_t> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    shiftgrad::Random random{seed};
    // Each model gains less and less, by chance more or less at each position.
    std::vector<ModelLosses> losses(3, ModelLosses(lengths.size(), std::vector<double>(40)));
    for (ModelLosses& model : losses) {
      double fall = random.uniform(), start = 2 + random.uniform();
      for (size_t n = 0; n < lengths.size(); ++n)
        for (double& loss : model[n])
          loss = start + std::pow(fall, static_cast<double>(n)) + 0.2 * random.uniform();
    }
    for (double r : {0.1, 0.33, 1.0}) {
      std::vector<EffectiveContext> found = effective_context(losses, lengths, r);
      REQUIRE(found.size() == 3);
      for (size_t model = 0; model < 3; ++model) {
        CHECK(found[model].length == naive(losses, lengths, r, model));
        seen.insert(found[model].length);
      }
    }
  }
  CHECK(seen.size() >= 4);
}

TEST_CASE("effective context: the first length that a longer one hardly improves on") {
  const std::vector<ModelLosses> losses = {{{2, 2}, {1, 2}, {1, 1.99}, {0, 0}}};
  const std::vector<int64_t> lengths = {10, 20, 30, 40};
  CHECK(lengths_of(effective_context(losses, lengths, 1)) == std::vector<int64_t>{20});
  // Half of the positions: only the second, which the third length improves on by 0.0099…
  CHECK(lengths_of(effective_context(losses, lengths, 0.5)) == std::vector<int64_t>{20});
  CHECK(lengths_of(effective_context({{{2}, {1.98}, {1.98}}}, {1, 2, 3}, 1)) ==
        std::vector<int64_t>{2});
  CHECK(lengths_of(effective_context({{{2}, {1.995}, {0}}}, {1, 2, 3}, 1)) ==
        std::vector<int64_t>{1});
}

TEST_CASE("effective context: a weak model has to improve on the best") {
  const ModelLosses good = {{2, 2}, {1, 1}, {1, 1}}, weak = {{5, 5}, {4, 4}, {3, 3}};
  CHECK(lengths_of(effective_context({weak}, {1, 2, 3}, 1)) == std::vector<int64_t>{3});
  CHECK(lengths_of(effective_context({good, weak}, {1, 2, 3}, 1)) == std::vector<int64_t>{2, 1});
}

TEST_CASE("effective context: ends with the list, and with a model's positions") {
  const ModelLosses gaining = {{3}, {2}, {1}}, stopping = {{3}, {2}};
  std::vector<EffectiveContext> found = effective_context({gaining, stopping}, {1, 2, 3}, 1);
  CHECK(found[0].length == 3);
  CHECK(found[0].at_least);
  CHECK(found[1].length == 2);
  CHECK_FALSE(found[1].at_least);
}
