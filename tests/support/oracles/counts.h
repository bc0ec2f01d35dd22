#pragma once

// The number of parameters in closed form.

#include "nn/models/encoder_decoder_block.h"
#include "nn/models/language_model.h"

namespace shiftgrad::test {

inline int64_t count_of_linear(int64_t in, int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

/// Both projections around n_head heads of d_head.
inline int64_t count_of_heads(int64_t C, int64_t width, bool bias) {
  return count_of_linear(C, 3 * width, bias) + count_of_linear(width, C, bias);
}

inline int64_t count(const Sized<MultiHeadAttentionConfig>& c) {
  return count_of_heads(c.d_model, c.d_model, c.bias);
}

inline int64_t count(const Sized<RelativeMultiHeadAttentionConfig>& c) {
  int64_t C = c.d_model, P = c.max_positions;
  return count_of_heads(C, C, false) + C + C + 2 * P * C + 2 * P * *c.n_head + C;
}

inline int64_t count(const Sized<RelativeGlobalAttentionConfig>& c) {
  int64_t C = c.d_model, tables = c.sight.causal ? 1 : 2;
  return count_of_heads(C, C, true) + tables * c.max_positions * C +
         (c.relative_bias ? tables * c.max_positions * *c.n_head : 0);
}

inline int64_t count(const Sized<ShawAttentionConfig>& c) {
  int64_t tables = (c.key_positions ? 1 : 0) + (c.value_positions ? 1 : 0);
  return count_of_heads(c.d_model, c.d_model, c.bias) +
         tables * (2 * *c.max_distance + 1) * (c.d_model / *c.n_head);
}

inline int64_t count(const Sized<TransformerXLAttentionConfig>& c) {
  int64_t C = c.d_model, HD = *c.n_head * c.d_head.value_or(C / *c.n_head);
  bool learned = c.positions == DistancePositions::learned;
  int64_t position_bias = learned ? *c.max_positions * *c.n_head : HD;
  return count_of_heads(C, HD, c.bias) + HD * (learned ? *c.max_positions : C) +
         (c.content_bias ? HD : 0) + (c.position_bias ? position_bias : 0);
}

inline int64_t count(const Sized<AftConfig>& c) {
  int64_t C = c.d_model, r = c.factor_rank.value_or(0);
  if (c.form == AftForm::conv) {
    int64_t H = *c.n_head;
    return 3 * count_of_linear(C, C, c.bias) + count_of_linear(C, H, c.bias) + H * *c.window +
           2 * H;
  }
  int64_t heads = count_of_heads(C, C, c.bias);
  if (c.form == AftForm::simple) return heads;
  return heads + (r == 0 ? *c.max_len * *c.max_len : 2 * *c.max_len * r);
}

inline int64_t count(const Sized<LocalRnnConfig>& c) {
  int64_t gates = c.cell == RecurrentCell::rnn ? 1 : c.cell == RecurrentCell::gru ? 3 : 4;
  return 2 * gates * (c.d_model * c.d_model + c.d_model);
}

inline int64_t count(const MixerConfig& config, Width width) {
  return std::visit([&](const auto& mixer) { return count(Sized{mixer, width}); }, config);
}

inline int64_t count_of_feed_forward(int64_t C, int64_t d_inner) {
  return 2 * C * d_inner + d_inner + C;
}

inline int64_t count(const Sized<TransformerBlockConfig>& c) {
  int64_t C = c.d_model;
  return count(c.mixer, c) + 2 * 2 * C + count_of_feed_forward(C, c.d_inner);
}

inline int64_t count(const Sized<RTransformerBlockConfig>& c) {
  int64_t C = c.d_model;
  int64_t local = count(Sized{LocalRnnConfig{.window = c.window, .cell = c.cell}, {C}}) + 2 * C;
  return c.rnn_layers * local + count_of_heads(C, C, true) + 2 * 2 * C +
         count_of_feed_forward(C, c.d_inner);
}

}  // namespace shiftgrad::test
