#include "shiftgrad/core/errors.h"
#include "shiftgrad/ops/elementwise.h"
#include "shiftgrad/ops/matmul.h"
#include "shiftgrad/ops/recurrent.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// What a cell hands on to its next step, [B, T, C] each; only an LSTM has c.
struct Hidden {
  Tensor h, c;
};

/// One step from the two products p = W_ih x + b_ih and u = W_hh h + b_hh, [B, T, gC] each.
Hidden step(RecurrentCell cell, const Tensor& p, const Tensor& u, const Hidden& before) {
  int64_t C = before.h.size(2);
  auto gate = [C](const Tensor& x, int64_t n) { return slice(x, 2, n * C, (n + 1) * C); };
  if (cell == RecurrentCell::rnn) return {tanh(p + u), {}};
  if (cell == RecurrentCell::gru) {
    Tensor r = sigmoid(gate(p, 0) + gate(u, 0)), z = sigmoid(gate(p, 1) + gate(u, 1));
    Tensor n = tanh(gate(p, 2) + r * gate(u, 2));
    return {(1 - z) * n + z * before.h, {}};
  }
  Tensor i = sigmoid(gate(p, 0) + gate(u, 0)), f = sigmoid(gate(p, 1) + gate(u, 1));
  Tensor g = tanh(gate(p, 2) + gate(u, 2)), o = sigmoid(gate(p, 3) + gate(u, 3));
  Tensor c = f * before.c + i * g;
  return {o * tanh(c), c};
}

}  // namespace

Tensor composed_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                        const Tensor& bias, int64_t window) {
  check_windows(cell, projected, weight, bias, window);
  int64_t T = projected.size(1) - window + 1;
  Tensor zero = Tensor::zeros({projected.size(0), T, weight.size(1)});
  Hidden hidden{zero, zero};
  for (int64_t n = 0; n < window; ++n)
    hidden = step(cell, slice(projected, 1, n, n + T), linear(hidden.h, weight, bias), hidden);
  return hidden.h;  // [B, T, C]
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
