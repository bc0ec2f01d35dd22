#pragma once

// Multi-head attention (Vaswani et al. 2017, "Attention Is All You Need", section 3.2).
//
//     score_ij = q_i · k_j / √D,   p_i = softmax_j(score_ij),   y_i = Σ_j p_ij v_j
//
// Positions are optional: by rotation (Su et al. 2021, RoFormer) or by a linear penalty on the
// distance (Press et al. 2022, ALiBi).

#include <optional>
#include <string>

#include "core/named.h"
#include "nn/attention.h"
#include "nn/width.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How attention knows positions: not at all, by rotary embedding, or by ALiBi's biases.
enum class AttentionPosition { none, rope, alibi };
constexpr auto names(AttentionPosition) { return std::array{"none", "rope", "alibi"}; }

/// Config of a MultiHeadAttention.
struct MultiHeadAttentionConfig {
  using Layer = struct MultiHeadAttention;
  static constexpr const char* type = "multi_head_attention";
  static constexpr KnownModel known{
      .name = "transformer",
      .summary = "absolute positions, rotary or ALiBi",
      .knows_order = false,
      .forms = {"", "position=sinusoid", "position=rope", "position=alibi"}};
  bool bias = true;
  Sight sight{};
  AttentionPosition position = AttentionPosition::none;
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(bias, fields::bias());
    field(sight.causal, fields::causal());
    sight.rules(field);
    field(position, {"position", "how attention knows positions"});
    field(attention_dropout, fields::attention_dropout());
  }
};

/// The Transformer's attention, to its own tokens or to a source. PyTorch: nn.MultiheadAttention.
struct MultiHeadAttention : Attention {
  AttentionPosition position = AttentionPosition::none;

  /// Draws weights from N(0, 0.02²), as GPT-2 does; biases start at 0. Throws when the config
  /// describes no valid layer.
  MultiHeadAttention(const MultiHeadAttentionConfig& config, Width width, Init init);

  /// Returns the keys and values of `source` [B, S, C]. Under fixed weights they can be made once
  /// for all calls that attend to it. Throws for a layer with a window, rope or alibi, which need
  /// distances.
  Heads source_heads(const Tensor& source) const;
  /// Cross-attention. Queries come from x [B, T, C], keys and values are those that `source_heads`
  /// made of a source. All keys are visible except where the context's masks hide them.
  Tensor cross(const Tensor& x, Heads source, Context& context) const;
  Tensor cross(const Tensor& x, const Tensor& source, Context& context) const {
    return cross(x, source_heads(source), context);
  }
  RelativeAttention equation(const Heads& heads, const Tensor& penalty) const override;
  /// Returns what ALiBi takes from a score, [n, H].
  Tensor position_table(int64_t farthest, int64_t nearest, Context& context) const override;
  Heads rotated(const Heads& heads, int64_t query, int64_t key) const override;
  bool scores_distances() const override { return position == AttentionPosition::alibi; }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
