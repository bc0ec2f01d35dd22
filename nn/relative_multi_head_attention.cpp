#include "nn/relative_multi_head_attention.h"

#include "core/errors.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

RelativeMultiHeadAttention::RelativeMultiHeadAttention(
    const RelativeMultiHeadAttentionConfig& config, Width width, Init init) {
  build_from(config, width, false, init);
  output.bias = constant_parameter({width.d_model}, 0, init);
  value_bias = constant_parameter({n_head * d_head}, 0, init);
  key_pos_embeddings = constant_parameter({2 * config.max_positions, n_head, d_head}, 0, init);
  key_pos_bias = constant_parameter({2 * config.max_positions, n_head}, 0, init);
  query_pos_bias = constant_parameter({n_head, d_head}, 0, init);
}

RelativeAttention RelativeMultiHeadAttention::equation(const Heads& heads, const Tensor&) const {
  const auto& [q, k, v, _] = heads;
  int64_t T = q.size(2), K = k.size(2), P = attention_span();
  require(K - 1 <= P && (causal || T <= P), "relative_multi_head_attention: ", T, " queries of ", K,
          " keys are beyond max_positions ", P);
  int64_t first = P - (K - 1), last = P - nearest(T) + 1;  // for the distances K-1 … 0 or -(T-1)

  RelativeAttention score{.query = q, .key = k, .value = v};        // (A) q_i·k_j
  score.position_rows = slice(key_pos_embeddings, 0, first, last);  // (B) q_i·R_{P-δ}  [n, H, D]
  score.content_bias = query_pos_bias;                              // (C) u·k_j
  score.position_scores = slice(key_pos_bias, 0, first, last);      // (D) S_{P-δ}  [n, H]
  // The bias of the values is one row for all distances.
  score.clipped_values = reshape(value_bias, {1, n_head, d_head});
  return score;
}

void RelativeMultiHeadAttention::visit(Visitor& visitor) const {
  Attention::visit(visitor);
  visitor("value_bias", value_bias);
  visitor("key_pos_embeddings", key_pos_embeddings);
  visitor("key_pos_bias", key_pos_bias);
  visitor("query_pos_bias", query_pos_bias);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
