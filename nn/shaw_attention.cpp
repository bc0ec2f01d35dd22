#include "nn/shaw_attention.h"

#include "core/errors.h"
#include "ops/clipped.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

ShawAttention::ShawAttention(const ShawAttentionConfig& config, Random& random) {
  build(config.type, config.d_model, config.n_head, std::nullopt, config.bias, random);
  require(config.max_distance && *config.max_distance >= 0, config.type, ": max_distance ",
          config.max_distance.value_or(-1), ", expected at least 0");
  max_distance = *config.max_distance;
  causal = config.causal;
  attention_dropout = config.attention_dropout;
  Dims table{2 * max_distance + 1, d_head};
  if (config.key_positions) key_distance_embeddings = normal_parameter(table, random);
  if (config.value_positions) value_distance_embeddings = normal_parameter(table, random);
}

Tensor ShawAttention::attend(const Heads& heads, const Tensor&, Context& context) const {
  const auto& [q, k, v] = heads;
  const Tensor &a = key_distance_embeddings, &b = value_distance_embeddings;
  Tensor scores = matmul(q, transpose(k));  // [B, H, T, K]
  if (a.defined()) {
    Tensor by_bucket = matmul(q, transpose(a));                  // [B, H, T, 2k+1]
    scores = scores + gather_by_distance(by_bucket, k.size(2));  // [B, H, T, K]
  }
  Tensor p = probabilities(scores, visibility(context), scale(), context);
  Tensor y = matmul(p, v);  // [B, H, T, D]
  if (b.defined()) y = y + matmul(bucket_by_distance(p, max_distance), b);
  return y;
}

void ShawAttention::visit(Visitor& visitor) const {
  Attention::visit(visitor);
  visitor("key_distance_embeddings", key_distance_embeddings);
  visitor("value_distance_embeddings", value_distance_embeddings);
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
