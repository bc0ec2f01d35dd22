#include "nn/multi_head_attention.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/errors.h"
#include "nn/positions.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns -factor · slope_h · |δ| for the distances from `farthest` down to `nearest`, [n, H].
Tensor distance_penalty(int64_t H, int64_t farthest, int64_t nearest, double factor) {
  std::vector<double> slopes = alibi_slopes(H);
  Tensor penalty = Tensor::empty({farthest - nearest + 1, H});
  Scalar* value = penalty.mutable_data();
  for (int64_t delta = farthest; delta >= nearest; --delta)
    for (double slope : slopes)
      *value++ = static_cast<Scalar>(-factor * slope * static_cast<double>(std::abs(delta)));
  return penalty;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionConfig& config, Initial values)
    : position(config.position) {
  build(config, config.bias, values);
  require(position != AttentionPosition::rope || d_head % 2 == 0, config.type,
          ": position rope needs an even head size, but d_model / n_head is ", d_head);
}

RelativeAttention MultiHeadAttention::equation(const Heads& heads, const Tensor&) const {
  const auto& [q, k, v] = heads;
  int64_t T = q.size(2), K = k.size(2);
  RelativeAttention score{.query = q, .key = k, .value = v};  // q_i·k_j
  if (position ==
      AttentionPosition::alibi) {  // -slope_h |δ|, times √D, which the score is divided by
    int64_t nearest = causal ? 0 : 1 - T;
    score.position_scores =  // [n, H]
        distance_penalty(n_head, K - 1, nearest, std::sqrt(static_cast<double>(d_head)));
  }
  return score;
}

Heads MultiHeadAttention::rotated(const Heads& heads, int64_t query, int64_t key) const {
  if (position != AttentionPosition::rope) return heads;
  return {rotate(heads.query, query), rotate(heads.key, key), heads.value};
}

KeysAndValues MultiHeadAttention::source_heads(const Tensor& source) const {
  require(window == 0, "multi_head_attention: window with a context");
  require(position == AttentionPosition::none,
          "multi_head_attention: position with a context, expected none");
  int64_t C = qkv.weight.size(1);
  require(source.defined() && source.rank() == 3 && source.size(2) == C, name, ": source ",
          source.shape(), ", expected [B, S, ", C, "]");
  return project_source(source);
}

Tensor MultiHeadAttention::cross(const Tensor& x, const Tensor& source, Context& context) const {
  check_input(name, x, {}, qkv.weight.size(1));
  KeysAndValues heads = source_heads(source);
  require(source.size(0) == x.size(0), name, ": source ", source.shape(), " for x ", x.shape(),
          ", expected [", x.size(0), ", S, ", x.size(2), "]");
  return cross(x, heads, context);
}

Tensor MultiHeadAttention::cross(const Tensor& x, const KeysAndValues& source,
                                 Context& context) const {
  check_input(name, x, {}, qkv.weight.size(1));
  RelativeAttention terms = equation({project_query(x), source.key, source.value}, {});
  terms = completed(terms, context);
  terms.visibility = {false, 0, context.key_padding_mask, context.attention_mask};
  return attend(terms, context);  // [B, T, C]
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
