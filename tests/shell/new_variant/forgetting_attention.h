#pragma once

// Attention in which each head learns how fast it forgets: ALiBi (Press et al. 2022) with slopes
// that are learned.
//
//     score_ij = q_i · k_j / √D - slope_h δ

#include "nn/attention.h"
#include "nn/width.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct ForgettingAttentionConfig {
  using Layer = struct ForgettingAttention;
  static constexpr const char* type = "forgetting_attention";
  static constexpr KnownModel known{"forgetting",
                                    "a penalty on the distance, learned by each head"};
  Sight sight{};
  double attention_dropout = 0;

  void fields(auto&& field) {
    sight.rules(field);
    field(attention_dropout, fields::attention_dropout());
  }
};

struct ForgettingAttention : Attention {
  Tensor slope;  // [H]

  /// Draws weights from N(0, 0.02²); biases and slopes start at 0. Throws when the config describes
  /// no valid layer.
  ForgettingAttention(const ForgettingAttentionConfig& config, Width width, Init init);
  void visit(Visitor& visitor) const override;
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
