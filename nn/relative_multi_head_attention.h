#pragma once

// Relative attention with learned tables, as in labml.ai's annotated Transformer-XL.
//
//     score_ij = (q_i·k_j  +  q_i·R_{P-δ}  +  u·k_j  +  S_{P-δ}) / √D
//                  (A)          (B)           (C)         (D)
//
// u is the content bias, which labml calls v. The form follows Dai et al. 2019, section 3.3, with
// the learned R and S in place of the projected sinusoids and their bias. Distances range from
// -(P-1) to P.

#include "nn/attention.h"
#include "nn/width.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of a RelativeMultiHeadAttention.
struct RelativeMultiHeadAttentionConfig {
  using Layer = struct RelativeMultiHeadAttention;
  static constexpr const char* type = "relative_multi_head_attention";
  static constexpr KnownModel known{
      .name = "labml",
      .summary = "like transformer_xl with learned tables of distances",
      .in_order = true};
  /// P, which is half the length of the tables.
  int64_t max_positions = 4096;
  /// Whether later keys are hidden.
  bool causal = true;
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(
        max_positions,
        {"max_positions",
         "half the rows of the table of distances; in models as many as sequences and memory need",
         quantity::tokens});
    field(causal, fields::causal());
    field(attention_dropout, fields::attention_dropout());
  }

  /// What a model has unless told otherwise: tables of the size that its sequences need.
  static RelativeMultiHeadAttentionConfig defaults() { return {.max_positions = 0}; }
  /// Sets the size of the tables to what such sequences need, if `defaults` has left it open.
  void fill_defaults(const SequenceLengths& lengths) {
    if (max_positions == 0) max_positions = lengths.distances;
  }
};

/// The relative attention of labml.ai, with learned tables of distances.
struct RelativeMultiHeadAttention : Attention {
  Tensor value_bias;          // [H·D]: the value projection alone has a bias
  Tensor key_pos_embeddings;  // R [2P, H, D]
  Tensor key_pos_bias;        // S [2P, H]
  Tensor query_pos_bias;      // u [H, D], labml's v

  /// Draws weights from N(0, 0.02²); tables and biases start at 0, as in the original. Throws when
  /// the config describes no valid layer.
  RelativeMultiHeadAttention(const RelativeMultiHeadAttentionConfig& config, Width width,
                             Init init);
  Limits limits() const override {
    return {.keys = causal ? attention_span() + 1 : attention_span()};
  }
  void visit(Visitor& visitor) const override;
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override;
  int64_t attention_span() const override { return key_pos_bias.size(0) / 2; }  // P
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
