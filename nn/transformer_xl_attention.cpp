#include "nn/transformer_xl_attention.h"

#include <algorithm>

#include "core/errors.h"
#include "nn/positions.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

RelativeAttention TransformerXLAttention::equation(const Heads& heads,
                                                   const Tensor& positions) const {
  const auto& [q, k, value, _] = heads;
  bool learned = position_embeddings.defined();
  auto by_distance = [&](const Tensor& table) { return last_rows(table, heads.key.size(2)); };
  Tensor r = learned ? by_distance(position_embeddings) : positions;  // r_δ or E_δ [n, H, D]

  RelativeAttention score{.query = q, .key = k, .value = value};  // (a) q_i·k_j
  score.position_rows = r;                                        // (b) q_i·r_δ
  score.content_bias = content_bias;                              // (c) u·k_j
  score.position_bias = position_bias;                            // (d) v·r_δ
  if (position_scalar_bias.defined())
    score.position_scores = by_distance(position_scalar_bias);  // (d) s_δ
  return score;
}

Tensor TransformerXLAttention::position_table(int64_t farthest, int64_t nearest,
                                              Context& context) const {
  if (position_embeddings.defined()) return {};
  int64_t most = config.clamp_len.value_or(0);  // 0 for no clamp
  std::vector<int64_t> distances;
  for (int64_t delta : distances_between(config.type, farthest, nearest))
    distances.push_back(most > 0 ? std::clamp(delta, -most, most) : delta);
  Tensor R = sinusoids(config.type, distances, qkv.weight.size(1));  // [n, C]
  DropoutPattern pattern = context.dropout_pattern(config.dropout);
  pattern.first_row = 0;                                       // all members of the batch share R
  Tensor r = position(dropout(R, pattern));                    // [n, H·D]
  return reshape(r, {std::ssize(distances), n_head, d_head});  // [n, H, D]
}

TransformerXLAttention::TransformerXLAttention(const TransformerXLAttentionConfig& own, Width width,
                                               Init init)
    : config(own) {
  const char* layer = config.type;
  build_from(config, width, config.bias, init, config.d_head);
  if (config.content_bias) content_bias = constant_parameter({n_head, d_head}, 0, init);
  if (config.positions == DistancePositions::sinusoid) {
    require(!config.max_positions, layer, ": max_positions with sinusoid positions");
    sinusoids(layer, {}, width.d_model);  // or throws
    position = Linear(width.d_model, n_head * d_head, false, init);
    if (config.position_bias) position_bias = constant_parameter({n_head, d_head}, 0, init);
  } else {
    require(causal, layer, ": causal false with learned positions, expected sinusoid positions");
    require(!config.clamp_len, layer, ": clamp_len with learned positions");
    require(config.max_positions.has_value(), layer,
            ": max_positions is missing for learned positions");
    position_embeddings = normal_parameter({*config.max_positions, n_head, d_head}, init);
    if (config.position_bias)
      position_scalar_bias = constant_parameter({*config.max_positions, n_head}, 0, init);
  }
}

void TransformerXLAttention::visit(Visitor& visitor) const {
  Attention::visit(visitor);
  visitor("content_bias", content_bias);
  visitor("position", position);
  visitor("position_bias", position_bias);
  visitor("position_embeddings", position_embeddings);
  visitor("position_scalar_bias", position_scalar_bias);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
