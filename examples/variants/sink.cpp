// The attention of gpt-oss's local layers (OpenAI 2025, https://arxiv.org/abs/2508.10925): rotary
// positions, the last w tokens, and a learned logit s_h of each head that takes its share of the
// softmax and has no value.
//
//     p_ij = e^{score_ij} / (e^{s_h} + Σ_l e^{score_il})

#include "variants.h"

namespace variants {

namespace {

struct SinkAttention : MultiHeadAttention {
  Tensor s;  // [H]
  SinkAttention(int64_t d_model, int64_t n_head, int64_t window, Random& random)
      : MultiHeadAttention({.sight = {.window = window}, .position = AttentionPosition::rope},
                           {d_model, n_head}, random),
        s(constant_parameter({n_head}, 0)) {
    name = "sink_attention";
  }
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override {
    RelativeAttention terms = MultiHeadAttention::equation(heads, positions);
    terms.sink = s;
    return terms;
  }
  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("sink", s);
  }
};

}  // namespace

std::unique_ptr<Layer> sink(int64_t d_model, int64_t n_head, int64_t window, Random& random) {
  return std::make_unique<SinkAttention>(d_model, n_head, window, random);
}

}  // namespace variants
