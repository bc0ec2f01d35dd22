// StreamingLLM (Xiao et al. 2024, https://arxiv.org/abs/2309.17453, section 3.2): a query sees the
// first n tokens, which are sinks of attention, and the last w. Positions are those in the cache:
// for token p after a full cache, no first token is farther away than the n + w - 1 that fit.
//
//     score_ij = (R_i q_i)·(R_j k_j) / √D,   but (R_c q_i)·(R_j k_j) / √D for j < n,
//     c = min(i, n + w - 1),   R_p the rotation by position p (Su et al. 2021)
//
// Both are one product, of channels that are 0 in the keys that are not meant.

#include <algorithm>

#include "variants.h"

namespace variants {

namespace {

struct StreamingAttention : Attention {
  int64_t first;   // n
  int64_t newest;  // w
  StreamingAttention(int64_t d_model, int64_t n_head, int64_t first, int64_t window, Random& random)
      : first(first), newest(window) {
    build("streaming_attention", d_model, n_head, std::nullopt, true, random);
    this->window = window;
    always = first;
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    int64_t T = heads.query.size(2), K = heads.key.size(2), n = std::min(first, K);
    std::vector<int64_t> c;
    for (int64_t i = K - T; i < K; ++i) c.push_back(std::min(i, first + newest - 1));
    Tensor k = rotate(heads.key, 0), none = Tensor::zeros(k.shape());  // [B, H, K, D]
    auto keys = [n](const Tensor& sinks, const Tensor& others) {
      return concat({slice(sinks, 2, 0, n), slice(others, 2, n, others.size(2))}, 2);
    };
    Tensor to_sinks = rotate(heads.query, sinusoids(name.c_str(), c, d_head));
    return {.query = concat({rotate(heads.query, K - T), to_sinks}, 3),  // [B, H, T, 2D]
            .key = concat({keys(none, k), keys(k, none)}, 3),            // [B, H, K, 2D]
            .value = heads.value};
  }
  bool scores_distances() const override { return false; }  // of tokens that left a gap
};

}  // namespace

std::unique_ptr<Layer> streaming(int64_t d_model, int64_t n_head, int64_t first, int64_t window,
                                 Random& random) {
  return std::make_unique<StreamingAttention>(d_model, n_head, first, window, random);
}

}  // namespace variants
