#pragma once

// The layers of examples/variants, and the convolution of tests/shell/outside, as loops over
// indices.

#include "tests/support/oracles/attention.h"

namespace shiftgrad::test {

/// q·k / √D.
inline double plain_score(const Pair& pair) {
  return pair.content() / std::sqrt(static_cast<double>(pair.q.size()));
}

/// q·k / √D with rotary positions, those of the query and of the key unless others are given.
inline double rotary_score(const Pair& pair, int64_t query) {
  std::vector<double> q = turned(pair.q, query), k = turned(pair.k, pair.key);
  return plain_score(Pair{q, k, 0, 0, 0});
}
inline double rotary_score(const Pair& pair) { return rotary_score(pair, pair.query); }

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

/// The rows of a weight or bias in this order.
inline Values rows_of(const Values& x, const std::vector<int64_t>& order) {
  Dims shape = x.shape;
  shape[0] = std::ssize(order);
  Values rows(shape);
  int64_t size = std::ssize(x.values) / x.size(0);
  for (int64_t n = 0; n < std::ssize(order); ++n)
    std::copy_n(x.values.begin() + order[static_cast<size_t>(n)] * size, size,
                rows.values.begin() + n * size);
  return rows;
}

/// The weights of heads whose qkv is that of a layer with its rows, D at a time, in this order.
inline Weights with_heads(const Weights& weights, int64_t D, const std::vector<int64_t>& order) {
  std::vector<int64_t> rows;
  for (int64_t head : order)
    for (int64_t d = 0; d < D; ++d) rows.push_back(head * D + d);
  Weights result = weights;
  for (const char* name : {"qkv.weight", "qkv.bias"})
    if (weights[name].defined()) result.all[name] = rows_of(weights[name], rows);
  return result;
}

inline Values sink_oracle(int64_t H, int64_t window, const Weights& weights, const Input& input) {
  int64_t D = input.C() / H;
  return attention_oracle({H, D, {.window = window}, weights["sink"]}, weights, input,
                          [](const Pair& pair) { return rotary_score(pair); });
}

/// cap · tanh(score / cap).
inline Values soft_cap_oracle(int64_t H, double cap, const Weights& weights, const Input& input) {
  auto score = [&](const Pair& pair) { return cap * std::tanh(rotary_score(pair) / cap); };
  return attention_oracle({H, input.C() / H}, weights, input, score);
}

/// q·k / √D + f(log(c δ + 1) / log(c max(L, i) + 1)), f a net with one layer of units.
inline Values fire_oracle(int64_t H, int64_t units, double threshold, const Weights& weights,
                          const Input& input) {
  double c = std::abs(weights["c"](0)), L = std::abs(weights["L"](0)) * threshold;
  auto psi = [&](double x) { return std::log(c * x + 1); };
  auto score = [&](const Pair& pair) {
    double u =
        psi(static_cast<double>(pair.delta())) / psi(std::max(L, static_cast<double>(pair.query)));
    double sum = plain_score(pair) + weights["d"](pair.h, 0);
    for (int64_t n = 0; n < units; ++n)
      sum += weights["w"](pair.h, n) * std::max(weights["a"](n) * u + weights["b"](n), 0.0);
    return sum;
  };
  return attention_oracle({H, input.C() / H}, weights, input, score);
}

/// q·k / √D + q·e[p], where p counts σ(q·k_l / √D) of the visible keys l from j to i, up to P - 1.
inline Values cope_oracle(int64_t H, int64_t P, const Weights& weights, const Input& input) {
  int64_t D = input.C() / H;
  Values all = linear_oracle(input.tokens(), weights["qkv.weight"], weights["qkv.bias"]);
  const Values& e = weights["embeddings"];
  auto score = [&](const Pair& pair) {
    double p = 0, sum = plain_score(pair);
    for (int64_t l = pair.key; l <= pair.query; ++l) {
      if (!is_visible(input, {}, input.K(), pair.b, pair.query - input.M(), l)) continue;
      std::span k(&all(pair.b, l, (H + pair.h) * D), static_cast<size_t>(D));
      p += sigmoid_of(plain_score(Pair{pair.q, k, 0, 0, 0}));
    }
    p = std::min(p, static_cast<double>(P - 1));
    auto below = static_cast<int64_t>(p), above = std::min(below + 1, P - 1);
    double share = p - static_cast<double>(below);
    for (int64_t d = 0; d < D; ++d)
      sum += pair.q[static_cast<size_t>(d)] * ((1 - share) * e(below, d) + share * e(above, d));
    return sum;
  };
  return attention_oracle({H, D}, weights, input, score);
}

/// Rotary positions, but a query is at most n + w - 1 from a first token.
inline Values streaming_oracle(int64_t H, int64_t first, int64_t window, const Weights& weights,
                               const Input& input) {
  auto score = [&](const Pair& pair) {
    bool is_first = pair.key < first;
    return rotary_score(pair, is_first ? std::min(pair.query, first + window - 1) : pair.query);
  };
  return attention_oracle({H, input.C() / H, {.window = window, .always = first}}, weights, input,
                          score);
}

/// B of the offset between two tokens of one window.
inline Values swin_oracle(int64_t H, int64_t rows, int64_t columns, bool causal,
                          const Weights& weights, const Input& input) {
  auto score = [&](const Pair& pair) {
    int64_t i = pair.query % (rows * columns), j = pair.key % (rows * columns);
    int64_t down = i / columns - j / columns, right = i % columns - j % columns;
    return plain_score(pair) +
           weights["table"](pair.h, (down + rows - 1) * (2 * columns - 1) + right + columns - 1);
  };
  Sight sight{.causal = causal, .chunk = Chunk{rows * columns, 0}};
  return attention_oracle({H, input.C() / H, sight}, weights, input, score);
}

/// A matrix S of each head, token by token; without gates in the weights, retention.
inline Values gated_linear_oracle(int64_t H, int64_t /*chunk*/, const Weights& weights,
                                  const Input& input) {
  int64_t C = input.C(), D = C / H;
  Values all = input.tokens(), qkv = linear_oracle(all, weights["qkv.weight"], {}), gates;
  if (weights["gate.weight"].defined())
    gates = linear_oracle(all, weights["gate.weight"], weights["gate.bias"]);
  Values swish = linear_oracle(input.x, weights["swish.weight"], {}), y({input.B(), input.T(), C});
  for (int64_t b = 0; b < input.B(); ++b)
    for (int64_t h = 0; h < H; ++h) {
      Values S({D, D});
      for (int64_t t = 0; t < input.K(); ++t) {
        std::vector<double> o(static_cast<size_t>(D));
        double squares = 0;
        for (int64_t e = 0; e < D; ++e) {
          double& sum = o[static_cast<size_t>(e)];
          for (int64_t d = 0; d < D; ++d) {
            double alpha = gates.defined() ? std::pow(sigmoid_of(gates(b, t, h * D + d)), 1.0 / 16)
                                           : 1 - std::pow(2.0, static_cast<double>(-5 - h));
            S(d, e) = alpha * S(d, e) + qkv(b, t, C + h * D + d) * qkv(b, t, 2 * C + h * D + e);
            sum += qkv(b, t, h * D + d) * S(d, e) / std::sqrt(static_cast<double>(D));
          }
          squares += sum * sum;
        }
        for (int64_t e = 0; e < D && t >= input.M(); ++e) {
          double r = swish(b, t - input.M(), h * D + e);
          y(b, t - input.M(), h * D + e) = r * sigmoid_of(r) * weights["norm_weight"](e) *
                                           o[static_cast<size_t>(e)] /
                                           std::sqrt(squares / static_cast<double>(D) + 1e-5);
        }
      }
    }
  return linear_oracle(y, weights["output.weight"], {});
}

/// FoX: q·k / √D + Σ log f_l over the tokens j + 1 … i that are no padding.
inline Values fox_oracle(int64_t H, const Weights& weights, const Input& input) {
  Values gates = linear_oracle(input.tokens(), weights["gate.weight"], weights["gate.bias"]);
  auto score = [&](const Pair& pair) {
    double sum = plain_score(pair);
    for (int64_t l = pair.key + 1; l <= pair.query; ++l)
      if (!input.padding || !input.padding->values[static_cast<size_t>(pair.b * input.K() + l)])
        sum -= std::log1p(std::exp(-gates(pair.b, l, pair.h)));
    return sum;
  };
  return attention_oracle({H, input.C() / H}, weights, input, score);
}

/// As if each head of queries had keys and values of its own, with rotary positions.
inline Values grouped_oracle(int64_t H, int64_t G, const Weights& weights, const Input& input) {
  std::vector<int64_t> order;
  for (int64_t h = 0; h < H; ++h) order.push_back(h);
  for (int64_t begin : {H, H + G})
    for (int64_t h = 0; h < H; ++h) order.push_back(begin + h * G / H);
  int64_t D = input.C() / H;
  return attention_oracle({H, D}, with_heads(weights, D, order), input,
                          [](const Pair& pair) { return rotary_score(pair); });
}

/// A map's product with the first and with the second half of its head's values, each as an
/// attention of 2H heads.
inline Values differential_oracle(int64_t H, const Weights& weights, const Input& input) {
  constexpr double init = 0.8;
  int64_t maps = 2 * H, D = input.C() / maps;
  std::array<Values, 2> halves;
  for (int64_t half : {0, 1}) {
    std::vector<int64_t> order;
    for (int64_t n = 0; n < 2 * maps; ++n) order.push_back(n);
    for (int64_t map = 0; map < maps; ++map) order.push_back(2 * maps + map / 2 * 2 + half);
    Weights own = with_heads(weights, D, order);
    Values identity({maps * D, maps * D});
    for (int64_t n = 0; n < maps * D; ++n) identity(n, n) = 1;
    own.all["output.weight"] = identity;
    halves[static_cast<size_t>(half)] = attention_oracle(
        {maps, D}, own, input, [](const Pair& pair) { return rotary_score(pair); });
  }
  const Values &lambdas = weights["lambda"], &gain = weights["norm_weight"];
  double sums[2] = {0, 0};
  for (int64_t map : {0, 1})
    for (int64_t d = 0; d < D; ++d) sums[map] += lambdas(0, map, d) * lambdas(1, map, d);
  double lambda = std::exp(sums[0]) - std::exp(sums[1]) + init;
  Values heads({input.B(), input.T(), maps * D});
  for (int64_t b = 0; b < input.B(); ++b)
    for (int64_t t = 0; t < input.T(); ++t)
      for (int64_t h = 0; h < H; ++h) {
        double squares = 0;
        auto difference = [&](int64_t n) {
          const Values& half = halves[static_cast<size_t>(n / D)];
          return half(b, t, 2 * h * D + n % D) - lambda * half(b, t, (2 * h + 1) * D + n % D);
        };
        for (int64_t n = 0; n < 2 * D; ++n) squares += difference(n) * difference(n);
        double norm = std::sqrt(squares / static_cast<double>(2 * D) + 1e-5);
        for (int64_t n = 0; n < 2 * D; ++n)
          heads(b, t, h * 2 * D + n) = (1 - init) * gain(n) * difference(n) / norm;
      }
  return linear_oracle(heads, weights["output.weight"], {});
}

/// W Σ_n w_n ⊙ x_{t-n} + b.
inline Values convolution_oracle(const Weights& weights, const Input& input) {
  const Values &kernel = weights["kernel"], all = input.tokens();
  Values sums({input.B(), input.T(), input.C()});
  for (int64_t b = 0; b < input.B(); ++b)
    for (int64_t t = 0; t < input.T(); ++t)
      for (int64_t n = 0; n < std::min(kernel.size(0), input.M() + t + 1); ++n)
        for (int64_t c = 0; c < input.C(); ++c)
          sums(b, t, c) += kernel(n, c) * all(b, input.M() + t - n, c);
  return linear_oracle(sums, weights["output.weight"], weights["output.bias"]);
}

}  // namespace shiftgrad::test
