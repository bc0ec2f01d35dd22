#include "nn/multi_head_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/checked.h"
#include "core/errors.h"
#include "nn/positions.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns -factor · slope_h · |δ| for the distances from `farthest` down to `nearest`, [n, H].
Tensor distance_penalty(int64_t H, int64_t farthest, int64_t nearest, double factor) {
  std::vector<double> slopes = alibi_slopes(H);
  Tensor penalty = Tensor::empty({distance_count("multi_head_attention", farthest, nearest), H});
  Scalar* value = penalty.mutable_data();
  for (int64_t delta = farthest; delta >= nearest; --delta)
    for (double slope : slopes)
      *value++ = static_cast<Scalar>(-factor * slope * static_cast<double>(std::abs(delta)));
  return penalty;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionConfig& config, Width width,
                                       Init init)
    : position(config.position) {
  build_from(config, width, config.bias, init);
  require(position != AttentionPosition::rope || d_head % 2 == 0, config.type,
          ": position rope needs an even head size, but d_model / n_head is ", d_head);
}

Tensor MultiHeadAttention::position_table(int64_t farthest, int64_t nearest, Context&) const {
  if (position != AttentionPosition::alibi) return {};
  // -slope_h |δ|, times √D, which the score is divided by
  return distance_penalty(n_head, farthest, nearest, std::sqrt(static_cast<double>(d_head)));
}

RelativeAttention MultiHeadAttention::equation(const Heads& heads, const Tensor& penalty) const {
  const auto& [q, k, v, _] = heads;
  return {.query = q, .key = k, .value = v, .position_scores = penalty};  // q_i·k_j + penalty[δ]
}

Heads MultiHeadAttention::rotated(const Heads& heads, int64_t query, int64_t key) const {
  if (position != AttentionPosition::rope) return heads;
  constexpr Range positions{-range::steps.greatest, range::steps.greatest};
  Within within{name.c_str()};
  within(positions, "position of the first query", query);
  within(positions, "position of the first key", key);
  int64_t T = heads.query.size(2), K = heads.key.size(2), first = std::min(query, key);
  int64_t count = std::max(query + T, key + K) - first;
  Tensor angles = sinusoids(name.c_str(), first, count, d_head);  // [count, D]
  auto rotated = [&](const Tensor& x, int64_t from) {
    return rotate(x, slice(angles, 0, from - first, from - first + x.size(2)));
  };
  return {rotated(heads.query, query), rotated(heads.key, key), heads.value, heads.extra};
}

Heads MultiHeadAttention::source_heads(const Tensor& source) const {
  Sight(*this).rules([&](const auto& rule, const Field& field) {
    require(!rule, "multi_head_attention: ", field.name, " with a source");
  });
  require(position == AttentionPosition::none,
          "multi_head_attention: position with a source, expected none");
  int64_t C = d_model();
  require(source.defined() && source.rank() == 3 && source.size(2) == C, name, ": source ",
          source.shape(), ", expected [B, S, ", C, "]");
  return project_source(source);
}

Tensor MultiHeadAttention::cross(const Tensor& x, Heads source, Context& context) const {
  int64_t C = d_model();
  check_input(name, x, {}, C);
  Dims given{source.key.size(0), source.key.size(2), C};
  require(given[0] == x.size(0), name, ": source ", given, " for x ", x.shape(), ", expected [",
          x.size(0), ", S, ", C, "]");
  source.query = project_query(x);
  RelativeAttention terms = with_mask_and_dropout(equation(source, {}), given[1], context);
  terms.visibility.sight.causal = false;
  return project_output(mix(terms, context), x);  // [B, T, C]
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
