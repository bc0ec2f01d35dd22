#pragma once

// Attention of every kind as loops over indices, each score written as in its paper.

#include <functional>
#include <span>

#include "nn/models/mixers.h"
#include "tests/support/oracles/input.h"

namespace shiftgrad::test {

/// One query and one key of a head.
struct Pair {
  std::span<const double> q, k;  // [D]
  int64_t h;
  int64_t query, key;  // positions, counted from the oldest token of the memory
  int64_t b = 0;       // of the batch

  int64_t delta() const { return query - key; }
  double content() const {
    double sum = 0;
    for (size_t d = 0; d < q.size(); ++d) sum += q[d] * k[d];
    return sum;
  }
};

struct AttentionRule {
  int64_t n_head, d_head;
  Sight sight{};
  Values sink{};  // [H], or undefined
};

/// The score of a pair before the softmax.
using Score = std::function<double(const Pair&)>;
/// What position d of key j's value gets added before it is passed on.
using Extra = std::function<double(const Pair&, int64_t d)>;

/// output(concat_h(Σ_j p_ij (v_j + extra_ij))), p_i the softmax of the visible keys' scores. Keys
/// come from the context where there is one.
inline Values attention_oracle(const AttentionRule& rule, const Weights& weights,
                               const Input& input, const Score& score, const Extra& extra = {}) {
  int64_t H = rule.n_head, D = rule.d_head, M = input.M();
  Values source = input.context.defined() ? input.context : input.tokens();
  int64_t K = source.size(1);
  Values of_x = linear_oracle(input.x, weights["qkv.weight"], weights["qkv.bias"]);
  Values of_source = linear_oracle(source, weights["qkv.weight"], weights["qkv.bias"]);
  Values heads({input.B(), input.T(), H * D});
  for (int64_t b = 0; b < input.B(); ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < input.T(); ++i) {
        auto head = [&](const Values& all, int64_t t, int64_t part) {
          return std::span(&all(b, t, (part * H + h) * D), static_cast<size_t>(D));
        };
        auto pair = [&](int64_t j) {
          return Pair{head(of_x, i, 0), head(of_source, j, 1), h, M + i, j, b};
        };
        std::vector<int64_t> keys;
        std::vector<double> scores;
        double maximum = -std::numeric_limits<double>::infinity(), total = 0;
        for (int64_t j = 0; j < K; ++j)
          if (is_visible(input, rule.sight, K, b, i, j)) {
            keys.push_back(j);
            scores.push_back(score(pair(j)));
            maximum = std::max(maximum, scores.back());
          }
        if (rule.sink.defined()) {
          maximum = std::max(maximum, rule.sink(h));
          total = std::exp(rule.sink(h) - maximum);
        }
        for (double s : scores) total += std::exp(s - maximum);
        for (size_t n = 0; n < keys.size(); ++n) {
          double p = std::exp(scores[n] - maximum) / total;
          auto v = head(of_source, keys[n], 2);
          for (int64_t d = 0; d < D; ++d)
            heads(b, i, h * D + d) +=
                p * (v[static_cast<size_t>(d)] + (extra ? extra(pair(keys[n]), d) : 0));
        }
      }
  return linear_oracle(heads, weights["output.weight"], weights["output.bias"]);
}

/// ALiBi's slope of head h of H, from the code that its paper prints.
inline double alibi_slope(int64_t h, int64_t H) {
  int64_t power = 1;
  while (2 * power <= H) power *= 2;
  if (h < power)
    return std::pow(2.0, -8.0 * static_cast<double>(h + 1) / static_cast<double>(power));
  return alibi_slope(2 * (h - power), 2 * power);
}

/// The head vector at a position turned as RoPE has it, in pairs (n, n + D/2).
inline std::vector<double> turned(std::span<const double> x, int64_t position) {
  size_t half = x.size() / 2;
  std::vector<double> y(x.size());
  for (size_t n = 0; n < half; ++n) {
    double exponent = -2.0 * static_cast<double>(n) / static_cast<double>(x.size());
    double a = static_cast<double>(position) * std::pow(10000.0, exponent);
    y[n] = x[n] * std::cos(a) - x[n + half] * std::sin(a);
    y[n + half] = x[n + half] * std::cos(a) + x[n] * std::sin(a);
  }
  return y;
}

inline Values oracle(const Sized<MultiHeadAttentionConfig>& config, const Weights& weights,
                     const Input& input) {
  int64_t H = *config.n_head, D = config.d_model / H;
  Sight sight = config.sight;
  sight.causal &= !input.context.defined();
  double root = std::sqrt(static_cast<double>(D));
  return attention_oracle({H, D, sight}, weights, input, [&](const Pair& pair) {
    if (config.position == AttentionPosition::rope) {
      std::vector<double> q = turned(pair.q, pair.query);
      std::vector<double> k = turned(pair.k, pair.key);
      return Pair{q, k, 0, 0, 0}.content() / root;
    }
    double score = pair.content() / root;
    if (config.position == AttentionPosition::alibi)
      score -= alibi_slope(pair.h, H) * static_cast<double>(std::abs(pair.delta()));
    return score;
  });
}

inline int64_t count(const Sized<MultiHeadAttentionConfig>& c) {
  return count_of_heads(c.d_model, c.d_model, c.bias);
}

/// labml: ((q + v)·k + q·R[P-δ] + S[P-δ]) / √D, and values with a bias.
inline Values oracle(const Sized<RelativeMultiHeadAttentionConfig>& config, const Weights& weights,
                     const Input& input) {
  int64_t H = *config.n_head, D = config.d_model / H, P = config.max_positions;
  const Values &R = weights["key_pos_embeddings"], &S = weights["key_pos_bias"];
  const Values &v = weights["query_pos_bias"], &value_bias = weights["value_bias"];
  auto score = [&](const Pair& pair) {
    int64_t row = P - pair.delta();
    double sum = S(row, pair.h);
    for (int64_t d = 0; d < D; ++d) {
      double q = pair.q[static_cast<size_t>(d)], k = pair.k[static_cast<size_t>(d)];
      sum += (q + v(pair.h, d)) * k + q * R(row, pair.h, d);
    }
    return sum / std::sqrt(static_cast<double>(D));
  };
  return attention_oracle({H, D, {.causal = config.causal}}, weights, input, score,
                          [&](const Pair& pair, int64_t d) { return value_bias(pair.h * D + d); });
}

inline int64_t count(const Sized<RelativeMultiHeadAttentionConfig>& c) {
  int64_t C = c.d_model, P = c.max_positions;
  return count_of_heads(C, C, false) + C + C + 2 * P * C + 2 * P * *c.n_head + C;
}

/// Music Transformer: (q·k + q·E[max_seq-1-|δ|] + b[max_seq-1-|δ|]) / √D.
inline Values oracle(const Sized<RelativeGlobalAttentionConfig>& config, const Weights& weights,
                     const Input& input) {
  int64_t H = *config.n_head, D = config.d_model / H;
  auto score = [&](const Pair& pair) {
    std::string time = pair.delta() >= 0 ? "past" : "future";
    int64_t row = config.max_seq - 1 - std::abs(pair.delta());
    const Values& E = weights[time + "_embeddings"];
    double sum = pair.content();
    for (int64_t d = 0; d < D; ++d) sum += pair.q[static_cast<size_t>(d)] * E(pair.h, row, d);
    if (config.relative_bias) sum += weights[time + "_bias"](pair.h, row);
    return sum / std::sqrt(static_cast<double>(D));
  };
  Sight sight{config.causal, config.max_seq};
  return attention_oracle({H, D, sight}, weights, input, score);
}

inline int64_t count(const Sized<RelativeGlobalAttentionConfig>& c) {
  int64_t C = c.d_model, tables = c.causal ? 1 : 2;
  return count_of_heads(C, C, true) + tables * c.max_seq * C +
         (c.relative_bias ? tables * c.max_seq * *c.n_head : 0);
}

/// Shaw: (q·k + q·a[r]) / √D and values v + b[r], r = clip(-δ, -k, k) + k.
inline Values oracle(const Sized<ShawAttentionConfig>& config, const Weights& weights,
                     const Input& input) {
  int64_t H = *config.n_head, D = config.d_model / H, k = config.max_distance.value();
  const Values& a = weights["key_distance_embeddings"];
  const Values& b = weights["value_distance_embeddings"];
  auto row = [k](const Pair& pair) { return std::clamp(-pair.delta(), -k, k) + k; };
  auto score = [&](const Pair& pair) {
    double sum = pair.content();
    if (config.key_positions)
      for (int64_t d = 0; d < D; ++d) sum += pair.q[static_cast<size_t>(d)] * a(row(pair), d);
    return sum / std::sqrt(static_cast<double>(D));
  };
  return attention_oracle(
      {H, D, {.causal = config.causal}}, weights, input, score,
      [&](const Pair& pair, int64_t d) { return config.value_positions ? b(row(pair), d) : 0; });
}

inline int64_t count(const Sized<ShawAttentionConfig>& c) {
  int64_t tables = (c.key_positions ? 1 : 0) + (c.value_positions ? 1 : 0);
  return count_of_heads(c.d_model, c.d_model, c.bias) +
         tables * (2 * *c.max_distance + 1) * (c.d_model / *c.n_head);
}

/// R_δ = [sin(δ f) | cos(δ f)], f_n = 10000^(-2n/C).
inline std::vector<double> sinusoid_row(int64_t delta, int64_t C) {
  std::vector<double> row(static_cast<size_t>(C));
  for (int64_t n = 0; n < C / 2; ++n) {
    double f = std::pow(10000.0, -2.0 * static_cast<double>(n) / static_cast<double>(C));
    row[static_cast<size_t>(n)] = std::sin(static_cast<double>(delta) * f);
    row[static_cast<size_t>(C / 2 + n)] = std::cos(static_cast<double>(delta) * f);
  }
  return row;
}

/// Transformer-XL: ((q + u)·k + (q + v)·W_r R_δ) / √D, with δ below 0 for the future of a two-way
/// layer, or with learned tables ((q + u)·k + q·E[max_positions-1-δ] + s[max_positions-1-δ]) / √D,
/// whose first row stands for all greater distances, too.
inline Values oracle(const Sized<TransformerXLAttentionConfig>& config, const Weights& weights,
                     const Input& input) {
  int64_t C = config.d_model, H = *config.n_head, D = config.d_head.value_or(C / H);
  const Values &u = weights["content_bias"], &v = weights["position_bias"];
  const Values& W_r = weights["position.weight"];
  const Values &E = weights["position_embeddings"], &s = weights["position_scalar_bias"];
  bool learned = config.positions == DistancePositions::learned;
  int64_t clamp = config.clamp_len.value_or(0);

  int64_t K = input.K();
  Values r({2 * K, H * D});  // W_r R_δ in row K + δ
  for (int64_t delta = -K; !learned && delta < K; ++delta) {
    std::vector<double> R = sinusoid_row(clamp > 0 ? std::clamp(delta, -clamp, clamp) : delta, C);
    for (int64_t o = 0; o < H * D; ++o)
      for (int64_t c = 0; c < C; ++c) r(K + delta, o) += W_r(o, c) * R[static_cast<size_t>(c)];
  }
  auto score = [&](const Pair& pair) {
    int64_t h = pair.h, row = learned ? std::max<int64_t>(E.size(0) - 1 - pair.delta(), 0) : 0;
    double sum = s.defined() ? s(row, h) : 0;
    for (int64_t d = 0; d < D; ++d) {
      double q = pair.q[static_cast<size_t>(d)], k = pair.k[static_cast<size_t>(d)];
      sum += (u.defined() ? q + u(h, d) : q) * k;
      double by_position = v.defined() ? q + v(h, d) : q;
      sum += by_position * (learned ? E(row, h, d) : r(K + pair.delta(), h * D + d));
    }
    return sum / std::sqrt(static_cast<double>(D));
  };
  return attention_oracle({H, D, config.sight}, weights, input, score);
}

inline int64_t count(const Sized<TransformerXLAttentionConfig>& c) {
  int64_t C = c.d_model, HD = *c.n_head * c.d_head.value_or(C / *c.n_head);
  bool learned = c.positions == DistancePositions::learned;
  int64_t position_bias = learned ? *c.max_positions * *c.n_head : HD;
  return count_of_heads(C, HD, c.bias) + HD * (learned ? *c.max_positions : C) +
         (c.content_bias ? HD : 0) + (c.position_bias ? position_bias : 0);
}

}  // namespace shiftgrad::test
