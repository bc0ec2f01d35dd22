#include "nn/shaw_attention.h"

#include "core/errors.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

ShawAttention::ShawAttention(const ShawAttentionConfig& config, Width width, Init init) {
  build_from(config, width, config.bias, init);
  require(config.max_distance.has_value(), config.type, ": max_distance is missing");
  Dims table{2 * *config.max_distance + 1, d_head};
  if (config.key_positions) key_distance_embeddings = normal_parameter(table, init);
  if (config.value_positions) value_distance_embeddings = normal_parameter(table, init);
}

RelativeAttention ShawAttention::equation(const Heads& heads, const Tensor&) const {
  const auto& [q, k, v, _] = heads;
  auto for_all_heads = [](const Tensor& x) { return x.defined() ? unsqueeze(x, 1) : x; };

  RelativeAttention score{.query = q, .key = k, .value = v};        // q_i·k_j
  score.clipped_keys = for_all_heads(key_distance_embeddings);      // q_i·a_c  [rows, 1, D]
  score.clipped_values = for_all_heads(value_distance_embeddings);  // v_j + b_c
  return score;
}

void ShawAttention::visit(Visitor& visitor) const {
  Attention::visit(visitor);
  visitor("key_distance_embeddings", key_distance_embeddings);
  visitor("value_distance_embeddings", value_distance_embeddings);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
