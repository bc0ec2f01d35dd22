// The attention of Gemma 2 (Riviere et al. 2024, https://arxiv.org/abs/2408.00118, section 2):
// rotary positions, and scores that stay below a cap, 50 in the paper.
//
//     score_ij = cap · tanh(q_i·k_j / √D / cap)

#include "variants.h"

namespace variants {

namespace {

struct SoftCapAttention : MultiHeadAttention {
  std::shared_ptr<const SoftCap> cap;
  SoftCapAttention(int64_t d_model, int64_t n_head, double most, Random& random)
      : MultiHeadAttention({.position = AttentionPosition::rope}, {d_model, n_head}, random),
        cap(std::make_shared<SoftCap>(most)) {
    name = "soft_cap_attention";
  }
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override {
    RelativeAttention terms = MultiHeadAttention::equation(heads, positions);
    terms.score_function = cap;
    return terms;
  }
};

}  // namespace

std::unique_ptr<Layer> soft_cap(int64_t d_model, int64_t n_head, double cap, Random& random) {
  return std::make_unique<SoftCapAttention>(d_model, n_head, cap, random);
}

}  // namespace variants
