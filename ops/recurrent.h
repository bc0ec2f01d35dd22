#pragma once

// Recurrent nets: a step of a cell goes from its two products to the new hidden state in one pass
// over memory, and a whole net runs over windows of tokens. p is W_ih x + b_ih and u is W_hh
// h + b_hh, [B, T, gC] each for B·T independent nets of C units; gates lie one after the other. The
// arithmetic is that of PyTorch's RNNCell, GRUCell and LSTMCell.

#include "core/named.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The kinds of PyTorch's cells. `rnn` is Elman's net:
///
///     h' = tanh(p + u)
///
/// `gru` (Cho et al. 2014, as PyTorch has it) has the gates r, z, n:
///
///     r = σ(p_r + u_r),   z = σ(p_z + u_z),   n = tanh(p_n + r u_n),   h' = (1 - z) n + z h
///
/// `lstm` (Hochreiter & Schmidhuber 1997) has the gates i, f, g, o:
///
///     i, f, o = σ(p + u),   g = tanh(p_g + u_g),   c' = f c + i g,   h' = o tanh(c')
enum class RecurrentCell { rnn, gru, lstm };
constexpr auto names(RecurrentCell) { return std::array{"rnn", "gru", "lstm"}; }

/// g, the number of gates.
constexpr int64_t gate_count(RecurrentCell cell) {
  return cell == RecurrentCell::rnn ? 1 : cell == RecurrentCell::gru ? 3 : 4;
}

/// What a cell hands on to its next step, [B, T, C] each; only an LSTM has c.
struct RecurrentState {
  /// The hidden state, and the cell state of LSTM, undefined for others.
  Tensor h{}, c{};
};

/// One step of a cell. projected p and recurrent u are [B, T, gC] for g gates, `before` is GRU's h
/// or LSTM's c [B, T, C]; undefined, u and `before` are 0. An RNN leaves `before` out, whose
/// gradient is 0 then. The gradient is that of composed_step. Throws when the shapes do not fit
/// together.
RecurrentState recurrent_step(RecurrentCell cell, const Tensor& projected, const Tensor& recurrent,
                              const Tensor& before);

/// Computes recurrent_step from plain ops.
RecurrentState composed_step(RecurrentCell cell, const Tensor& projected, const Tensor& recurrent,
                             const Tensor& before);

/// The last h of a cell that runs from h = c = 0 over each window of tokens, with u = W h + b:
///
///     y_t = h_s,     h_n = cell(p_{t+n-1}, u, h_{n-1}),  n = 1 … s
///
/// projected p is [B, s - 1 + T, gC], weight W [gC, C], bias b [gC] or undefined. Returns y
/// [B, T, C] for windows of s tokens. Throws when the shapes do not fit together. PyTorch: nn.LSTM
/// and the like over x.unfold(1, s, 1), which projects each token s times.
Tensor recurrent_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                         const Tensor& bias, int64_t window);

/// Computes recurrent_windows from plain ops, one step of all windows at a time. It is for readers
/// and for the tests of recurrent_windows.
Tensor composed_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                        const Tensor& bias, int64_t window);

/// Throws an error that names recurrent_windows when the shapes do not fit together.
void check_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                   const Tensor& bias, int64_t window);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
