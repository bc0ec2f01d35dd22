#pragma once

// Multi-head attention (Vaswani et al. 2017, "Attention Is All You Need", section 3.2):
//
//     score_ij = q_i · k_j / √D,   p_i = softmax_j(score_ij),   y_i = Σ_j p_ij v_j
//
// with, by choice, positions by rotation (Su et al. 2021, RoFormer) or by a linear penalty on the
// distance (Press et al. 2022, ALiBi).

#include <optional>
#include <string>

#include "shiftgrad/nn/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct MultiHeadAttention;

struct MultiHeadAttentionConfig {
  using Layer = MultiHeadAttention;
  static constexpr const char* type = "multi_head_attention";
  int64_t d_model = 0;
  int64_t n_head = 0;
  bool bias = true;
  bool causal = true;
  std::optional<int64_t> window{};
  /// `none`, `rope` or `alibi`.
  std::string position = "none";
  double attention_dropout = 0;

  template <class Fields>
  void fields(Fields& field) {
    field("d_model", d_model);
    field("n_head", n_head);
    field("bias", bias);
    field("causal", causal);
    field("window", window);
    field("position", position);
  }
};

struct MultiHeadAttention : Attention {
  enum class Position { none, rope, alibi };
  Position position = Position::none;

  /// Weights start at N(0, 0.02²) as GPT-2's, biases at 0. Throws when the config names no layer.
  MultiHeadAttention(const MultiHeadAttentionConfig& config, Random& random);

  /// Cross-attention: queries from x [B, T, C], keys and values from `source` [B, S, C], all of
  /// them visible but for the context's masks. Throws with a window, rope or alibi, which need
  /// distances.
  Tensor cross(const Tensor& x, const Tensor& source, Context& context) const;

  /// The keys and values of `source` [B, S, C], to be made once for all the calls that attend to it
  /// under fixed weights. Throws as `cross` does.
  KeysAndValues source_heads(const Tensor& source) const;
  /// Cross-attention to these.
  Tensor cross(const Tensor& x, const KeysAndValues& source, Context& context) const;

 protected:
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override;
  Heads rotated(const Heads& heads, int64_t query, int64_t key) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
