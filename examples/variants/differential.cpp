// Differential attention (Ye et al. 2025, https://arxiv.org/abs/2410.05258, section 2.1): each head
// has two maps of queries and keys, with rotary positions, and takes the difference of their
// softmaxes from values of twice their width.
//
//     y_i = (1 - λ_init) · norm(Σ_j (softmax_j(q¹_i·k¹_j / √D) - λ softmax_j(q²_i·k²_j / √D)) v_j)
//     λ = e^(λ_q1·λ_k1) - e^(λ_q2·λ_k2) + λ_init,   norm the RMS norm of each head
//
// λ_init is 0.8 - 0.6 e^(-0.3 l) in layer l = 0, 1, … of the paper, and 0.8 here.

#include "variants.h"

namespace variants {

namespace {

struct DifferentialAttention : MultiHeadAttention {
  Scalar init = Scalar(0.8);   // λ_init
  Tensor lambda, norm_weight;  // λ_q and λ_k of both maps [2, 2, D], and [2D]
  DifferentialAttention(int64_t d_model, int64_t n_head, Random& random)
      : MultiHeadAttention({.bias = false, .position = AttentionPosition::rope},
                           {d_model, 2 * n_head}, random),
        lambda(normal_parameter({2, 2, d_head}, random, 0.1)),
        norm_weight(constant_parameter({2 * d_head}, 1)) {
    name = "differential_attention";
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    Tensor v = split_heads(merge_heads(heads.value), n_head / 2);  // [B, H, K, 2D]
    Dims of_maps{v.size(0), n_head, v.size(2), 2 * d_head};
    return {heads.query, heads.key, reshape(stack({v, v}, 2), of_maps)};  // [B, 2H, K, 2D]
  }
  Tensor mix(const RelativeAttention& terms, Context& context) const override {
    Tensor maps = Attention::mix(terms, context);     // [B, 2H, T, 2D]
    Tensor e = exp(sum(lambda[0] * lambda[1], {1}));  // [2]
    Tensor y = slice(maps, 1, 0, n_head, 2) - slice(maps, 1, 1, n_head, 2) * (e[0] - e[1] + init);
    return rms_norm(y, norm_weight, 1e-5) * (1 - init);  // [B, H, T, 2D]
  }
  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("lambda", lambda);
    visitor("norm_weight", norm_weight);
  }
};

}  // namespace

std::unique_ptr<Layer> differential(int64_t d_model, int64_t n_head, Random& random) {
  return std::make_unique<DifferentialAttention>(d_model, n_head, random);
}

}  // namespace variants
