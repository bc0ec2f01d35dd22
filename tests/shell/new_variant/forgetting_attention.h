#pragma once

// Attention in which each head learns how fast it forgets: ALiBi (Press et al. 2022) with slopes
// that are learned.
//
//     score_ij = q_i · k_j / √D - slope_h δ

#include "nn/attention.h"
#include "nn/fields.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct ForgettingAttention;

struct ForgettingAttentionConfig {
  using Layer = ForgettingAttention;
  static constexpr const char* type = "forgetting_attention";
  static constexpr const char* model = "forgetting";
  static constexpr const char* summary = "a penalty on the distance, learned by each head";
  int64_t d_model = 0;
  int64_t n_head = 0;
  std::optional<Window> window{};
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(d_model, fields::d_model);
    field(n_head, fields::n_head);
    field(window, fields::window);
  }
};

struct ForgettingAttention : Attention {
  Tensor slope;  // [H]

  /// Draws weights from N(0, 0.02²); biases and slopes start at 0. Throws when the config describes
  /// no valid layer.
  ForgettingAttention(const ForgettingAttentionConfig& config, Initial values);
  void visit(Visitor& visitor) const override;
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
