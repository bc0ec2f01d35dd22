#pragma once

// Relative global attention (Huang et al. 2018, Music Transformer, section 3.4).
//
//     score_ij = (q_i·k_j + q_i·E_δ + s_δ) / √D,   E_δ = past_embeddings[max_seq - 1 - δ]
//
// Skewing computes the middle term without a [T, K, D] tensor. In the two-way form, future keys (δ
// < 0) have tables of their own, also read at row max_seq - 1 - |δ|. Keys with |δ| ≥
// max_seq are not attended to. s_δ is in past_bias.

#include "nn/attention.h"
#include "nn/width.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of a RelativeGlobalAttention.
struct RelativeGlobalAttentionConfig {
  using Layer = struct RelativeGlobalAttention;
  static constexpr const char* type = "relative_global_attention";
  static constexpr KnownModel known{"music_transformer", "an embedding for each distance"};
  /// Number of distances that are attended to, in each direction.
  int64_t max_seq = 0;
  /// Whether later keys are hidden. JSON has the opposite, too, `bidirectional`.
  bool causal = true;
  bool relative_bias = true;
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(max_seq,
          {.name = "max_seq",
           .help = "attend to distances below it only; in models as many as sequences and memory "
                   "need",
           .of = quantity::tokens,
           .also = "max_positions"});
    field(causal, {.name = "causal", .help = fields::causal().help, .opposite = "bidirectional"});
    field(relative_bias, {"relative_bias", "learn a bias for each distance besides its embedding"});
    field(attention_dropout, fields::attention_dropout());
  }

  /// Sets the number of distances unless that is given.
  void fill_defaults(const SequenceLengths& lengths) {
    if (max_seq == 0) max_seq = lengths.distances;
  }
};

/// Music Transformer's attention, with an embedding of each distance.
struct RelativeGlobalAttention : Attention {
  Tensor past_embeddings, future_embeddings;  // [H, max_seq, D]
  Tensor past_bias, future_bias;              // [H, max_seq]

  /// Draws weights and tables from N(0, 0.02²); biases start at 0. Throws when the config describes
  /// no valid layer.
  RelativeGlobalAttention(const RelativeGlobalAttentionConfig& config, Width width, Init init);
  void visit(Visitor& visitor) const override;
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
