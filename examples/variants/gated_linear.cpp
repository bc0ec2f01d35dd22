// Gated linear attention (Yang et al. 2024, https://arxiv.org/abs/2312.06635): a matrix S of each
// head stands for all of the past, and gates α forget it channel by channel.
//
//     S_t = Diag(α_t) S_{t-1} + k_tᵀ v_t,   o_t = q_t S_t / √D,   α_t = σ(W_α x_t + b_α)^(1/16)
//     y_t = W_O (swish(W_r x_t) ⊙ norm(o_t)),   norm the RMS norm of each head
//
// A chunk of tokens is computed at once. With b_t = Σ log α from its first token to t, and S of the
// tokens before it,
//
//     o_i = (q_i ⊙ e^{b_i}) S + Σ_{j≤i} (Σ_d q_id k_jd e^{b_id - b_jd}) v_j
//
// Retention (Sun et al. 2023, https://arxiv.org/abs/2307.08621) has α = 1 - 2^(-5-h) in head h,
// whatever the token.

#include <algorithm>
#include <cmath>
#include <limits>

#include "variants.h"

namespace variants {

namespace {

struct State : CacheOf<State> {
  Tensor S;  // [B, H, D, D], undefined at the start
  void forget_newest(int64_t count) override {
    require(count == 0, "cache: cannot forget tokens that a sum has");
  }
  void reorder(const std::vector<int64_t>& members) override { S = members_of(S, members); }
};

/// o of a chunk whose q, k, v and log α are [B, H, c, D]; S becomes that behind it.
Tensor chunk_output(const std::vector<Tensor>& heads, Tensor& S) {
  const Tensor &q = heads[0], &k = heads[1], &v = heads[2], b = cumsum(heads[3], 2);
  int64_t c = q.size(2);
  Mask seen{{c, c}, {}};
  for (int64_t n = 0; n < c * c; ++n) seen.values.push_back(n % c <= n / c);
  constexpr Scalar least = -std::numeric_limits<Scalar>::infinity();
  Tensor kept = exp(clamp(unsqueeze(b, 3) - unsqueeze(b, 2), least, 0));  // [B, H, c, c, D]
  Tensor a = sum(unsqueeze(q, 3) * unsqueeze(k, 2) * kept, {4});          // [B, H, c, c]
  Tensor o = weighted_sum(where(seen, a, Tensor::zeros({1})), v);         // [B, H, c, D]
  Tensor last = slice(b, 2, c - 1, c), added = matmul(transpose(k * exp(last - b)), v);
  if (S.defined()) o = o + matmul(q * exp(b), S);
  S = S.defined() ? transpose(exp(last)) * S + added : added;  // [B, H, D, D]
  return o;
}

struct GatedLinearAttention : Layer {
  int64_t n_head, chunk;
  Linear qkv, gate, swish, output;  // [3C, C], W_α and b_α, W_r, W_O; no gate for retention
  Tensor norm_weight;               // [D]
  GatedLinearAttention(int64_t C, int64_t n_head, int64_t chunk, bool gated, Random& random)
      : n_head(n_head),
        chunk(chunk),
        qkv(C, 3 * C, false, random),
        gate(gated ? Linear(C, C, true, random) : Linear()),
        swish(C, C, false, random),
        output(C, C, false, random),
        norm_weight(constant_parameter({C / n_head}, 1)) {
    name = gated ? "gated_linear" : "retention";
  }
  Tensor log_gates(const Tensor& x) const {  // [B, H, K, D]
    if (gate.weight.defined()) return split_heads(log_sigmoid(gate(x)) * Scalar(1.0 / 16), n_head);
    Tensor h = Tensor::from({1, n_head, 1, 1}, arange(0, static_cast<double>(n_head)).values());
    Tensor decay = log(1 - exp((h + 5) * static_cast<Scalar>(-std::log(2))));
    return expand(decay, {x.size(0), n_head, x.size(1), norm_weight.size(0)});
  }
  Tensor forward(const Tensor& x, const Past& past, Context& context) const override {
    check_input(name, x, past.memory(), qkv.weight.size(1));
    context.refuse_masks(name.c_str());
    auto* state = past.cache<State>();
    Tensor all = concat({past.memory(), x}, 1), S = state ? state->S : Tensor();  // [B, K, C]
    std::vector<Tensor> heads = split(split_heads(qkv(all), 3 * n_head), n_head, 1);
    heads.push_back(log_gates(all));
    int64_t K = all.size(1);
    std::vector<Tensor> chunks{slice(heads[0], 2, 0, 0)};
    for (int64_t t = 0; t < K; t += chunk) {
      std::vector<Tensor> part;
      for (const Tensor& one : heads) part.push_back(slice(one, 2, t, std::min(t + chunk, K)));
      chunks.push_back(chunk_output(part, S));
    }
    if (state && S.defined()) state->S = S.detach();
    Tensor o = slice(concat(chunks, 2), 2, K - x.size(1), K) / std::sqrt(norm_weight.size(0));
    return output(silu(swish(x)) * merge_heads(rms_norm(o, norm_weight, 1e-5)));  // [B, T, C]
  }
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const override {
    if (limit < unlimited) return Layer::make_cache(limit);
    return new_cache<State>();
  }
  std::vector<Tensor> residual_projections() const override { return {output.weight}; }
  void visit(Visitor& visitor) const override {
    visitor("qkv", qkv);
    if (gate.weight.defined()) visitor("gate", gate);
    visitor("swish", swish);
    visitor("norm_weight", norm_weight);
    visitor("output", output);
  }
};

}  // namespace

std::unique_ptr<Layer> gated_linear(int64_t d_model, int64_t n_head, int64_t chunk,
                                    Random& random) {
  return std::make_unique<GatedLinearAttention>(d_model, n_head, chunk, true, random);
}

std::unique_ptr<Layer> retention(int64_t d_model, int64_t n_head, int64_t chunk, Random& random) {
  return std::make_unique<GatedLinearAttention>(d_model, n_head, chunk, false, random);
}

}  // namespace variants
