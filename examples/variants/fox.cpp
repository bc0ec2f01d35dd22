// The forgetting transformer (Lin et al. 2025, https://arxiv.org/abs/2503.02130): each head has a
// forget gate f_t, by which it forgets what came before token t.
//
//     f_t = σ(w·x_t + b),   score_ij = q_i·k_j / √D + Σ_{l=j+1}^{i} log f_l
//
// The sum is that up to i less that up to j. The first is the same for all keys of a query, and the
// softmax drops it.

#include <cmath>

#include "variants.h"

namespace variants {

namespace {

struct FoxAttention : Attention {
  Linear gate;  // w [H, C], b [H]
  FoxAttention(int64_t d_model, int64_t n_head, Random& random) {
    build("fox_attention", d_model, n_head, std::nullopt, true, random);
    gate = Linear(d_model, n_head, true, random);
  }
  Heads heads(const Tensor& x, const Tensor& memory) const override {
    Heads heads = Attention::heads(x, memory);
    heads.extra = log_sigmoid(gate(concat({memory, x}, 1)));  // log f_j [B, K, H]
    return heads;
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    Tensor forgotten = transpose(cumsum(heads.extra, 1)) * -std::sqrt(d_head);  // [B, H, K]
    return {.query = heads.query, .key = heads.key, .value = heads.value, .key_scores = forgotten};
  }
  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("gate", gate);
  }
};

}  // namespace

std::unique_ptr<Layer> fox(int64_t d_model, int64_t n_head, Random& random) {
  return std::make_unique<FoxAttention>(d_model, n_head, random);
}

}  // namespace variants
