#pragma once

// Recurrent nets: a step of a gated cell goes from its two products to the new hidden state in one
// pass over memory, and a whole net runs over windows of tokens. p is W_ih x + b_ih and u is W_hh
// h + b_hh, [B, T, gC] each for B·T independent nets of C units; gates lie one after the other. The
// arithmetic is that of PyTorch's RNNCell, GRUCell and LSTMCell.

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// One step of a GRU (Cho et al. 2014, as PyTorch has it), with gates r, z, n:
///
///     r = σ(p_r + u_r),   z = σ(p_z + u_z),   n = tanh(p_n + r u_n),   h' = (1 - z) n + z h
///
/// projected p and recurrent u are [B, T, 3C], and hidden h is [B, T, C], undefined for h = 0.
/// Returns h' [B, T, C]. Throws when the shapes do not fit together.
Tensor gru_step(const Tensor& projected, const Tensor& recurrent, const Tensor& hidden);

/// One step of an LSTM (Hochreiter & Schmidhuber 1997), with gates i, f, g, o:
///
///     i, f, o = σ(p + u),   g = tanh(p_g + u_g),   c' = f c + i g,   h' = o tanh(c')
///
/// sums p + u are [B, T, 4C], and cell c is [B, T, C], undefined for c = 0. Returns h' and c' as
/// [2, B, T, C]. Throws when the shapes do not fit together.
Tensor lstm_step(const Tensor& sums, const Tensor& cell);

/// The kinds of PyTorch's cells; `rnn` is Elman's net, h' = tanh(p + u).
enum class RecurrentCell { rnn, gru, lstm };

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

/// Throws, in the name of recurrent_windows, when the shapes do not fit together.
void check_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                   const Tensor& bias, int64_t window);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
