// Grouped-query attention (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245): G heads of keys
// and values, each of which serves H/G consecutive heads of queries. A cache keeps G heads.
//
//     score_ij = q_i·k_j / √D,   k and v those of group h·G/H,   rotary positions as in Llama 2

#include "variants.h"

namespace variants {

namespace {

struct GroupedAttention : MultiHeadAttention {
  int64_t groups;  // G
  GroupedAttention(int64_t d_model, int64_t n_head, int64_t groups, Random& random)
      : MultiHeadAttention({.position = AttentionPosition::rope}, {d_model, n_head}, random),
        groups(groups) {
    name = "grouped_attention";
    qkv = Linear(d_model, (n_head + 2 * groups) * d_head, true, random);
  }
  Heads heads(const Tensor& x, const Tensor& memory) const override {
    int64_t k = n_head * d_head, v = k + groups * d_head;                // where they begin
    Tensor all = concat({memory, x}, 1);                                 // [B, K, C]
    return {.query = split_heads(qkv.part(x, 0, k), n_head),             // [B, H, T, D]
            .key = split_heads(qkv.part(all, k, v), groups),             // [B, G, K, D]
            .value = split_heads(qkv.part(all, v, 2 * v - k), groups)};  // [B, G, K, D]
  }
};

}  // namespace

std::unique_ptr<Layer> grouped(int64_t d_model, int64_t n_head, int64_t groups, Random& random) {
  return std::make_unique<GroupedAttention>(d_model, n_head, groups, random);
}

}  // namespace variants
