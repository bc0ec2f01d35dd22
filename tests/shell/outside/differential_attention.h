#pragma once

// Differential attention (Ye et al. 2025, section 2.1): each head has two maps of queries and keys,
// and takes the difference of their softmaxes from values of twice their width.
//
//     y_i = (1 - λ_init) · norm(Σ_j (softmax_j(q¹_i·k¹_j / √D) - λ softmax_j(q²_i·k²_j / √D)) v_j)
//     λ = e^(λ_q1·λ_k1) - e^(λ_q2·λ_k2) + λ_init,   norm the RMS norm of each head
//
// Queries and keys get zeros up to the width of the values. λ_init is 0.8 - 0.6 e^(-0.3 l) in layer
// l = 0, 1, … of the paper.

#include <shiftgrad/shiftgrad.h>

namespace outside {

using namespace shiftgrad;

struct DifferentialAttention : Attention {
  Scalar init = Scalar(0.8);   // λ_init
  Tensor lambda, norm_weight;  // λ_q and λ_k of both maps [2, 2, D], and [2D]
  DifferentialAttention(int64_t d_model, int64_t n_head, Random& random) {
    build("differential_attention", d_model, 2 * n_head, std::nullopt, false, random);
    lambda = normal_parameter({2, 2, d_head}, random, 0.1);
    norm_weight = constant_parameter({2 * d_head}, 1);
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    auto wide = [](const Tensor& x) { return concat({x, Tensor::zeros(x.shape())}, 3); };
    Tensor key = wide(heads.key), v = split_heads(merge_heads(heads.value), n_head / 2);
    return {wide(heads.query), key, reshape(stack({v, v}, 2), key.shape())};  // [B, 2H, K, 2D]
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

}  // namespace outside
