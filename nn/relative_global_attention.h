#pragma once

// Relative global attention (Huang et al. 2018, Music Transformer, section 3.4):
//
//     score_ij = (q_i·k_j + q_i·E_δ + s_δ) / √D,   E_δ = past_embeddings[max_seq - 1 - δ]
//
// Skewing computes the middle term without a [T, K, D] tensor. In the two-way form, future keys (δ
// < 0) have tables of their own, also read at row max_seq - 1 - |δ|. Keys with |δ| ≥ max_seq are
// not attended to. s_δ is in past_bias.

#include "nn/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct RelativeGlobalAttention;

struct RelativeGlobalAttentionConfig {
  using Layer = RelativeGlobalAttention;
  static constexpr const char* type = "relative_global_attention";
  int64_t d_model = 0;
  int64_t n_head = 0;
  int64_t max_seq = 0;
  bool bidirectional = false;
  bool relative_bias = true;
  double attention_dropout = 0;

  template <class Fields>
  void fields(Fields& field) {
    field("d_model", d_model);
    field("n_head", n_head);
    field("max_seq", max_seq);
    field("bidirectional", bidirectional);
    field("relative_bias", relative_bias);
  }
};

struct RelativeGlobalAttention : Attention {
  Tensor past_embeddings, future_embeddings;  // [H, max_seq, D]
  Tensor past_bias, future_bias;              // [H, max_seq]

  /// Draws weights and tables from N(0, 0.02²); biases start at 0. Throws when the config describes
  /// no valid layer.
  RelativeGlobalAttention(const RelativeGlobalAttentionConfig& config, Random& random);
  void visit(Visitor& visitor) const override;
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
