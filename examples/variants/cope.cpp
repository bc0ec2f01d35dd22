// CoPE (Golovneva et al. 2024, https://arxiv.org/abs/2405.18719): the position of key j is how many
// tokens from it to query i the query counts, and the embedding between two whole positions is
// interpolated.
//
//     g_ij = σ(q_i·k_j / √D),   p_ij = min(Σ_{l=j}^{i} g_il, P - 1)
//     score_ij = q_i·k_j / √D + q_i·e[p_ij],   e[p] between e[⌊p⌋] and e[⌊p⌋ + 1]
//
// p_ij needs all scores of the row between j and i, so no tile knows it: plain ops compute it, in
// memory O(T K).

#include <algorithm>
#include <cmath>

#include "variants.h"

namespace variants {

namespace {

/// Whether each query sees each key [B, 1, T, K].
Mask visible(const RelativeAttention& terms) {
  Dims shape{terms.query.size(0), 1, terms.query.size(2), terms.key.size(2)};
  Mask mask{shape, {}};
  for (Scalar share : masked_softmax(Tensor::zeros(shape), terms.visibility, 1).values())
    mask.values.push_back(share > 0);
  return mask;
}

/// Returns z[p] for z [B, H, T, P] and p [B, H, T, K], between two whole positions.
Tensor interpolated(const Tensor& z, const Tensor& p) {
  const int32_t last = static_cast<int32_t>(z.size(3)) - 1;
  Tokens below{p.shape(), {}}, above{p.shape(), {}};
  std::vector<Scalar> whole;
  for (Scalar position : p.values()) {
    below.values.push_back(position < last ? static_cast<int32_t>(position) : last);
    above.values.push_back(std::min(below.values.back() + 1, last));
    whole.push_back(static_cast<Scalar>(below.values.back()));
  }
  Tensor lower = gather(z, 3, below);
  return lower + (p - Tensor::from(p.shape(), whole)) * (gather(z, 3, above) - lower);
}

struct CopeAttention : Attention {
  Tensor embeddings;  // e [P, D], of all heads
  CopeAttention(int64_t d_model, int64_t n_head, int64_t positions, Random& random) {
    build("cope_attention", d_model, n_head, std::nullopt, true, random);
    embeddings = constant_parameter({positions, d_head}, 0);
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    return {.query = heads.query, .key = heads.key, .value = heads.value};
  }
  Tensor mix(const RelativeAttention& a, Context& context) const override {
    Tensor qk = matmul(a.query, transpose(a.key));  // [B, H, T, K]
    Tensor g = where(visible(a), sigmoid(qk * *a.factor), Tensor::zeros({1}));
    Tensor counted = flip(cumsum(flip(g, 3), 3), 3);  // Σ over the keys from j on
    Tensor p = clamp(counted, 0, static_cast<Scalar>(embeddings.size(0) - 1));
    Tensor qe = interpolated(linear(a.query, embeddings), p) * (1 / *a.factor);
    Tensor scores = sum_of_terms({{"content_content", qk}, {"contextual_position", qe}},
                                 context.term_editor, qk.shape());
    Tensor shares = masked_softmax(scores, a.visibility, *a.factor);
    if (context.recorder) context.recorder(shares);
    return weighted_sum(dropout(shares, a.dropout), a.value);  // [B, H, T, D]
  }
  Tensor forward(const Tensor& x, const Past& past, Context& context) const override {
    auto a = std::get<RelativeAttention>(Attention::terms(x, past, context));
    return project_output(mix(a, context), x);
  }
  /// None: its score is no sum of terms of a pair alone.
  LayerTerms terms(const Tensor&, const Past&, Context&) const override { return {}; }
  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("embeddings", embeddings);
  }
};

}  // namespace

std::unique_ptr<Layer> cope(int64_t d_model, int64_t n_head, int64_t positions, Random& random) {
  return std::make_unique<CopeAttention>(d_model, n_head, positions, random);
}

}  // namespace variants
