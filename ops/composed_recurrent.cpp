#include "core/errors.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/recurrent.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

RecurrentState composed_step(RecurrentCell cell, const Tensor& p, const Tensor& recurrent,
                             const Tensor& state) {
  auto or_zero = [&](const Tensor& x, int64_t width) {
    return x.defined() ? x : Tensor::zeros({p.size(0), p.size(1), width});
  };
  int64_t C = p.size(2) / gate_count(cell);
  Tensor u = or_zero(recurrent, p.size(2)), before = or_zero(state, C);
  auto gate = [C](const Tensor& x, int64_t n) { return slice(x, 2, n * C, (n + 1) * C); };
  if (cell == RecurrentCell::rnn) return {tanh(p + u), {}};
  if (cell == RecurrentCell::gru) {
    Tensor r = sigmoid(gate(p, 0) + gate(u, 0)), z = sigmoid(gate(p, 1) + gate(u, 1));
    Tensor n = tanh(gate(p, 2) + r * gate(u, 2));
    return {(1 - z) * n + z * before, {}};
  }
  Tensor i = sigmoid(gate(p, 0) + gate(u, 0)), f = sigmoid(gate(p, 1) + gate(u, 1));
  Tensor g = tanh(gate(p, 2) + gate(u, 2)), o = sigmoid(gate(p, 3) + gate(u, 3));
  Tensor c = f * before + i * g;
  return {o * tanh(c), c};
}

Tensor composed_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                        const Tensor& bias, int64_t window) {
  check_windows(cell, projected, weight, bias, window);
  int64_t T = projected.size(1) - window + 1;
  RecurrentState state{Tensor::zeros({projected.size(0), T, weight.size(1)}), {}};
  for (int64_t n = 0; n < window; ++n)
    state = composed_step(cell, slice(projected, 1, n, n + T), linear(state.h, weight, bias),
                          cell == RecurrentCell::lstm ? state.c : state.h);
  return state.h;  // [B, T, C]
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
