#include "distance_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/tape.h"
#include "examples/apps/draw/factor_text.h"
#include "examples/apps/draw/finite.h"
#include "nn/layer.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace char_lm {

using shiftgrad::AftTerms;
using shiftgrad::RelativeAttention;
using shiftgrad::Tensor;

namespace {

using Tables = std::vector<DistanceTable>;

/// The distances from `nearest`, which is below 0 for a two-way mixer, to `farthest`.
struct Distances {
  int64_t nearest, farthest;
};

/// The distances that queries can see of K tokens.
Distances seen_of(const shiftgrad::Visibility& visibility, int64_t K) {
  return {1 - visibility.range(0, 0, K, K).end, K - 1 - visibility.range(0, K - 1, K, K).begin};
}

/// Returns value(x) of the elements x of `rows` [n, H] for the distances that are seen. The first
/// row is for the distance `first`, the last for the nearest.
template <class Value>
DistanceTable table(const std::string& title, const Tensor& rows, int64_t first, Distances seen,
                    Value value) {
  int64_t n = rows.size(0), H = rows.size(1);
  int64_t nearest = std::max(seen.nearest, first - n + 1), last = std::min(seen.farthest, first);
  std::vector<shiftgrad::Scalar> values = rows.values();
  DistanceTable result{title, nearest, {}};
  for (int64_t h = 0; h < H; ++h) {
    result.heads.emplace_back();
    for (int64_t delta = nearest; delta <= last; ++delta)
      result.heads.back().push_back(apps::finite(value(values[(first - delta) * H + h]), title));
  }
  return result;
}

/// Returns the products of vectors a and b [n, H, D] as [n, H], if both are defined.
Tensor dot(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return {};
  return sum(a * b, {2});
}

Tables tables_of(std::monostate) { return {}; }

/// Returns a table of each term by distance that depends on parameters.
Tables tables_of(const RelativeAttention& terms) {
  const Tensor &r = terms.position_rows, &a = terms.clipped_keys, &b = terms.clipped_values;
  int64_t K = terms.key.size(2), m = a.defined() ? a.size(0) / 2 : 0;
  Tables tables;
  auto add = [&](const std::string& title, const Tensor& rows, int64_t first, auto value) {
    if (rows.requires_gradient())
      tables.push_back(table(title, rows, first, seen_of(terms.visibility, K), value));
  };
  auto add_bias = [&](const std::string& name, const Tensor& rows, int64_t first) {
    add("bias " + name + apps::factor_text(terms), rows, first,
        [&](double bias) { return bias * *terms.factor; });
  };
  auto add_norm = [&](const std::string& name, const Tensor& rows, int64_t first) {
    add("norm of " + name, dot(rows, rows), first, [](double x) { return std::sqrt(x); });
  };
  add_bias("v·r", dot(r, terms.position_bias), K - 1);
  add_bias("v·a", dot(a, terms.position_bias), m);
  add_bias("s", terms.position_scores, K - 1);
  add_norm("r", r, K - 1);
  add_norm("p", terms.position_queries, K - 1);
  add_norm("the keys' a", a, m);
  // A single row is no matter of distances.
  if (b.defined() && b.size(0) > 1) add_norm("the values' b", b, b.size(0) / 2);
  return tables;
}

/// Returns the mean of w over all pairs at each distance.
Tables tables_of(const AftTerms& terms) {
  const auto& [bias, start, step] = terms.band;
  int64_t G = bias.size(0), T = bias.size(1), n = bias.size(2);
  std::vector<shiftgrad::Scalar> w = bias.values();
  Distances seen = seen_of(terms.visibility, T);
  DistanceTable result{"bias w, mean over queries", 0, {}};
  for (int64_t g = 0; g < G; ++g) {
    std::map<int64_t, std::pair<double, double>> sums;  // with the number of pairs, by distance
    for (int64_t i = 0; i < T; ++i)
      for (int64_t c = 0; c < n; ++c) {
        int64_t j = start + step * i + c, delta = i - j;
        if (j < 0 || j >= T || delta < seen.nearest || delta > seen.farthest) continue;
        sums[delta].first += static_cast<double>(w[(g * T + i) * n + c]);
        ++sums[delta].second;
      }
    if (sums.empty()) return {};
    result.first = sums.begin()->first;
    result.heads.emplace_back();
    for (const auto& [delta, sum] : sums)
      result.heads.back().push_back(apps::finite(sum.first / sum.second, result.title));
  }
  return {result};
}

}  // namespace

Tables distance_tables(const shiftgrad::Layer& mixer, int64_t d_model, int64_t distances) {
  shiftgrad::Tape tape;  // tells terms that are learned from others
  shiftgrad::Context context;
  int64_t K = mixer.limits().keys < shiftgrad::unlimited ? mixer.limits().keys : distances;
  shiftgrad::LayerTerms terms = mixer.terms(Tensor::zeros({1, K, d_model}), {}, context);
  return std::visit([](const auto& of_mixer) { return tables_of(of_mixer); }, terms);
}

std::vector<Tables> distance_tables(const shiftgrad::LanguageModel& model, int64_t distances) {
  std::vector<Tables> all;
  for (const auto& [name, layer] : shiftgrad::layers(model)) {
    Tables tables = distance_tables(layer, model.config.d_model, distances);
    if (!tables.empty()) all.push_back(tables);
  }
  return all;
}

std::string why_no_distances(const shiftgrad::LanguageModelConfig& config) {
  if (config.position == shiftgrad::TokenPosition::learned)
    return "its learned positions are absolute";
  if (config.position == shiftgrad::TokenPosition::sinusoid)
    return "its sinusoids are absolute and fixed";
  auto* mixer = std::get_if<shiftgrad::MultiHeadAttentionConfig>(&config.mixer);
  if (mixer && mixer->position == shiftgrad::AttentionPosition::alibi)
    return "ALiBi's slopes are fixed";
  if (mixer && mixer->position == shiftgrad::AttentionPosition::rope)
    return "rotary positions are fixed";
  return "it has no positions";
}

}  // namespace char_lm
