#pragma once

// Relation-aware attention with clipped distances (Shaw et al. 2018, equations 3 and 4).
//
//     score_ij = q_i · (k_j + a_c) / √D,   y_i = Σ_j p_ij (v_j + b_c)
//     c = clip(-δ, -m, m) + m,   m = max_distance
//
// The tables a and b have 2m + 1 rows, shared by the heads. No [T, K, D] tensor is
// made: q aᵀ is computed for the rows of a and gathered, and probabilities are summed for each row
// of b before they are multiplied by it.

#include "nn/attention.h"
#include "nn/width.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of a ShawAttention.
struct ShawAttentionConfig {
  using Layer = struct ShawAttention;
  static constexpr const char* type = "shaw_attention";
  static constexpr KnownModel known{"shaw", "clipped distances, for keys and values"};
  /// m, the distance beyond which all distances share one row.
  std::optional<int64_t> max_distance{};
  /// Whether later keys are hidden.
  bool causal = true;
  bool bias = true;
  bool key_positions = true;
  bool value_positions = true;
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(max_distance,
          {"max_distance", "treat greater distances as this one", quantity::tokens_or_none});
    field(causal, fields::causal());
    field(bias, fields::bias());
    field(key_positions, {"key_positions", "learn an embedding of each distance for the keys"});
    field(value_positions, {"value_positions", "learn an embedding of each distance for the values"});
    field(attention_dropout, fields::attention_dropout());
  }

  /// What a model has unless told otherwise.
  static ShawAttentionConfig defaults() { return {.max_distance = 16}; }
};

/// Attention whose keys and values have an embedding of the clipped distance.
struct ShawAttention : Attention {
  Tensor key_distance_embeddings;    // a [2m + 1, D]
  Tensor value_distance_embeddings;  // b [2m + 1, D]

  /// Draws weights and tables from N(0, 0.02²); biases start at 0. Throws when the config describes
  /// no valid layer.
  ShawAttention(const ShawAttentionConfig& config, Width width, Init init);
  void visit(Visitor& visitor) const override;
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
