#pragma once

// Grouped-query attention (Ainslie et al. 2023): G heads of keys and values, each of which serves
// H/G consecutive heads of queries. A cache keeps G heads.

#include <shiftgrad/shiftgrad.h>

namespace outside {

using namespace shiftgrad;

struct GroupedAttention : Attention {
  int64_t groups;  // G
  GroupedAttention(int64_t d_model, int64_t n_head, int64_t groups, Random& random)
      : groups(groups) {
    build("grouped_attention", d_model, n_head, std::nullopt, true, random);
    qkv = Linear(d_model, (n_head + 2 * groups) * d_head, true, random);
  }
  Heads heads(const Tensor& x, const Tensor& memory) const override {
    int64_t k = n_head * d_head, v = k + groups * d_head;                // where they begin
    Tensor all = concat({memory, x}, 1);                                 // [B, K, C]
    return {.query = split_heads(qkv.part(x, 0, k), n_head),             // [B, H, T, D]
            .key = split_heads(qkv.part(all, k, v), groups),             // [B, G, K, D]
            .value = split_heads(qkv.part(all, v, 2 * v - k), groups)};  // [B, G, K, D]
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    return {.query = heads.query, .key = heads.key, .value = heads.value};
  }
};

}  // namespace outside
