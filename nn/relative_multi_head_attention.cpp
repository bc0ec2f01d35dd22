#include "nn/relative_multi_head_attention.h"

#include "core/errors.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "ops/shift.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

RelativeMultiHeadAttention::RelativeMultiHeadAttention(
    const RelativeMultiHeadAttentionConfig& config, Random& random) {
  build(config.type, config.d_model, config.n_head, std::nullopt, false, random);
  require(config.max_positions >= 1, config.type, ": max_positions ", config.max_positions,
          ", expected at least 1");
  causal = config.causal;
  attention_dropout = config.attention_dropout;
  output.bias = constant_parameter({config.d_model}, 0);
  value_bias = constant_parameter({n_head * d_head}, 0);
  key_pos_embeddings = constant_parameter({2 * config.max_positions, n_head, d_head}, 0);
  key_pos_bias = constant_parameter({2 * config.max_positions, n_head}, 0);
  query_pos_bias = constant_parameter({n_head, d_head}, 0);
}

Tensor RelativeMultiHeadAttention::attend(const Heads& heads, const Tensor&,
                                          Context& context) const {
  const auto& [q, k, v] = heads;
  int64_t T = q.size(2), K = k.size(2), P = key_pos_bias.size(0) / 2;
  require(K - 1 <= P && (causal || T <= P), "relative_multi_head_attention: ", T, " queries of ", K,
          " keys are beyond max_positions ", P);
  int64_t first = P - (K - 1), last = P + (causal ? 1 : T);  // of the distances K-1 … 0 or -(T-1)
  Tensor R = slice(key_pos_embeddings, 0, first, last);      // [n, H, D]
  Tensor S = slice(key_pos_bias, 0, first, last);            // [n, H]

  Tensor AC = matmul(q + unsqueeze(query_pos_bias, 1), transpose(k));  // [B, H, T, K]
  Tensor B = relative_product(q, R, K);                                // [B, H, T, K]
  Tensor D = relative_bias(S, T, K);                                   // [H, T, K]
  Tensor p = probabilities(AC + B + D, visibility(context), scale(), context);
  Tensor biased = v + reshape(value_bias, {n_head, 1, d_head});  // [B, H, K, D]
  return matmul(p, biased);                                      // [B, H, T, D]
}

int64_t RelativeMultiHeadAttention::reach() const { return key_pos_bias.size(0) / 2; }

void RelativeMultiHeadAttention::visit(Visitor& visitor) const {
  Attention::visit(visitor);
  visitor("value_bias", value_bias);
  visitor("key_pos_embeddings", key_pos_embeddings);
  visitor("key_pos_bias", key_pos_bias);
  visitor("query_pos_bias", query_pos_bias);
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
