#pragma once

// The layers of tests/shell/outside as loops over indices.

#include "tests/support/oracles/attention.h"

namespace shiftgrad::test {

/// q·k / √D.
inline double plain_score(const Pair& pair) {
  return pair.content() / std::sqrt(static_cast<double>(pair.q.size()));
}

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
  return attention_oracle({H, D, {.window = window}, weights["sink"]}, weights, input, plain_score);
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

/// As if each head of queries had keys and values of its own.
inline Values grouped_oracle(int64_t H, int64_t G, const Weights& weights, const Input& input) {
  std::vector<int64_t> order;
  for (int64_t h = 0; h < H; ++h) order.push_back(h);
  for (int64_t begin : {H, H + G})
    for (int64_t h = 0; h < H; ++h) order.push_back(begin + h * G / H);
  int64_t D = input.C() / H;
  return attention_oracle({H, D}, with_heads(weights, D, order), input, plain_score);
}

/// A map's product with the first and with the second half of its head's values, each as an
/// attention of 2H heads.
inline Values differential_oracle(int64_t H, double init, const Weights& weights,
                                  const Input& input) {
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
    halves[static_cast<size_t>(half)] = attention_oracle({maps, D}, own, input, plain_score);
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
