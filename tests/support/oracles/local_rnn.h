#pragma once

#include "nn/local_rnn.h"
#include "tests/support/oracles/aft.h"

namespace shiftgrad::test {

/// One step of PyTorch's cells on vectors: h and c move on.
inline void cell_step(RecurrentCell cell, const Weights& weights, const std::vector<double>& x,
                      std::vector<double>& h, std::vector<double>& c) {
  const Values &W_ih = weights["weight_ih"], &W_hh = weights["weight_hh"];
  const Values &b_ih = weights["bias_ih"], &b_hh = weights["bias_hh"];
  size_t C = x.size();
  std::vector<double> before = h;
  auto product = [&](const Values& W, const Values& b, const std::vector<double>& vector,
                     size_t gate, size_t n) {
    double sum = b(gate * C + n);
    for (size_t m = 0; m < C; ++m) sum += W(gate * C + n, m) * vector[m];
    return sum;
  };
  for (size_t n = 0; n < C; ++n) {
    auto in = [&](size_t gate) { return product(W_ih, b_ih, x, gate, n); };
    auto back = [&](size_t gate) { return product(W_hh, b_hh, before, gate, n); };
    if (cell == RecurrentCell::rnn) {
      h[n] = std::tanh(in(0) + back(0));
    } else if (cell == RecurrentCell::gru) {
      double r = sigmoid(in(0) + back(0)), z = sigmoid(in(1) + back(1));
      h[n] = (1 - z) * std::tanh(in(2) + r * back(2)) + z * before[n];
    } else {
      double i = sigmoid(in(0) + back(0)), f = sigmoid(in(1) + back(1));
      double g = std::tanh(in(2) + back(2)), o = sigmoid(in(3) + back(3));
      c[n] = f * c[n] + i * g;
      h[n] = o * std::tanh(c[n]);
    }
  }
}

/// The cell from h = c = 0 over each token's window; tokens before the first are zero vectors.
inline Values oracle(const Sized<LocalRnnConfig>& config, const Weights& weights,
                     const Input& input) {
  Values tokens = input.tokens(), y({input.B(), input.T(), input.C()});
  auto C = static_cast<size_t>(input.C());
  for (int64_t b = 0; b < input.B(); ++b)
    for (int64_t i = 0; i < input.T(); ++i) {
      std::vector<double> h(C), c(C), x(C);
      int64_t last = input.M() + i;
      for (int64_t t = last - config.window + 1; t <= last; ++t) {
        for (size_t n = 0; n < C; ++n) x[n] = t < 0 ? 0 : tokens(b, t, n);
        cell_step(config.cell, weights, x, h, c);
      }
      for (size_t n = 0; n < C; ++n) y(b, i, n) = h[n];
    }
  return y;
}

inline int64_t count(const Sized<LocalRnnConfig>& c) {
  int64_t gates = c.cell == RecurrentCell::rnn ? 1 : c.cell == RecurrentCell::gru ? 3 : 4;
  return 2 * gates * (c.d_model * c.d_model + c.d_model);
}

}  // namespace shiftgrad::test
