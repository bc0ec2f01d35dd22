#pragma once

#include "nn/aft.h"
#include "tests/support/oracles/input.h"

namespace shiftgrad::test {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The taps γ (kernel - mean)/(std + 1e-5) + β of each head, [H, s]; std over a head's taps, n of
/// them.
inline Values conv_taps(const Weights& weights) {
  const Values &kernel = weights["kernel"], &gain = weights["kernel_gain"];
  const Values& offset = weights["kernel_offset"];
  int64_t H = kernel.size(0), s = kernel.size(1);
  Values w({H, s});
  for (int64_t h = 0; h < H; ++h) {
    double mean = 0, variance = 0;
    for (int64_t n = 0; n < s; ++n) mean += kernel(h, n) / static_cast<double>(s);
    for (int64_t n = 0; n < s; ++n)
      variance += std::pow(kernel(h, n) - mean, 2) / static_cast<double>(s);
    for (int64_t n = 0; n < s; ++n)
      w(h, n) = gain(h) * (kernel(h, n) - mean) / (std::sqrt(variance) + 1e-5) + offset(h);
  }
  return w;
}

/// w_tt' of the config's form for channel c, t and t' counted from the oldest token.
class AftBias {
 public:
  AftBias(const Sized<AftConfig>& config, const Weights& weights)
      : config_(config), weights_(weights) {
    if (config.form == AftForm::conv) taps_ = conv_taps(weights);
    rank_ = config.factor_rank.value_or(0);
    if (rank_ > 0) by_query_ = weights["position_bias_query"], by_key_ = weights["position_bias_key"];
  }

  double operator()(int64_t t, int64_t key, int64_t c) const {
    int64_t delta = t - key, s = config_.window.value_or(0);
    if (config_.form == AftForm::simple) return 0;
    if (config_.form == AftForm::local && std::abs(delta) >= s) return 0;
    if (config_.form == AftForm::conv) {
      int64_t tap = config_.causal ? delta : -delta + (s - 1) / 2;
      int64_t width = config_.d_model / *config_.n_head;
      return tap >= 0 && tap < s ? taps_(c / width, tap) : 0;
    }
    if (rank_ == 0) return weights_["position_bias"](t, key);
    double w = 0;
    for (int64_t r = 0; r < rank_; ++r) w += by_query_(t, r) * by_key_(key, r);
    return w;
  }

 private:
  const Sized<AftConfig>& config_;
  const Weights& weights_;
  Values taps_, by_query_, by_key_;
  int64_t rank_ = 0;
};

/// y_t = σ(q_t) ⊙ Σ e^(k + w) v / Σ e^(k + w) over the visible keys, and the output projection.
inline Values oracle(const Sized<AftConfig>& config, const Weights& weights, const Input& input) {
  int64_t B = input.B(), T = input.T(), C = input.C(), M = input.M(), K = input.K();
  Values tokens = input.tokens(), q, k, v;
  bool conv = config.form == AftForm::conv;
  if (conv) {
    q = linear_oracle(tokens, weights["query.weight"], weights["query.bias"]);
    k = linear_oracle(tokens, weights["key.weight"], weights["key.bias"]);
    v = linear_oracle(tokens, weights["value.weight"], weights["value.bias"]);
  } else {
    q = k = v = linear_oracle(tokens, weights["qkv.weight"], weights["qkv.bias"]);
  }
  AftBias w(config, weights);
  Values y({B, T, C});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t i = 0; i < T; ++i)
      for (int64_t c = 0; c < C; ++c) {
        auto key = [&](int64_t j) {
          return conv ? k(b, j, c / (C / *config.n_head)) : k(b, j, C + c);
        };
        auto visible = [&](int64_t j) { return is_visible(input, {config.causal}, K, b, i, j); };
        double maximum = -std::numeric_limits<double>::infinity();
        for (int64_t j = 0; j < K; ++j)
          if (visible(j)) maximum = std::max(maximum, key(j) + w(M + i, j, c));
        double above = 0, below = 0;
        for (int64_t j = 0; j < K; ++j)
          if (visible(j)) {
            double weight = std::exp(key(j) + w(M + i, j, c) - maximum);
            above += weight * (conv ? v(b, j, c) : v(b, j, 2 * C + c));
            below += weight;
          }
        if (below > 0) y(b, i, c) = sigmoid(q(b, M + i, c)) * above / below;
      }
  return linear_oracle(y, weights["output.weight"], weights["output.bias"]);
}

inline int64_t count(const Sized<AftConfig>& c) {
  int64_t C = c.d_model, r = c.factor_rank.value_or(0);
  if (c.form == AftForm::conv) {
    int64_t H = *c.n_head;
    return 3 * count_of_linear(C, C, c.bias) + count_of_linear(C, H, c.bias) + H * *c.window +
           2 * H;
  }
  int64_t heads = count_of_heads(C, C, c.bias);
  if (c.form == AftForm::simple) return heads;
  return heads + (r == 0 ? *c.max_len * *c.max_len : 2 * *c.max_len * r);
}

}  // namespace shiftgrad::test
