#pragma once

// Recurrent nets: one step of a gated one, from its two products to the new hidden state, in one
// pass over memory, and all steps over windows of tokens. p is W_ih x + b_ih and u is
// W_hh h + b_hh, [B, T, gC] each for B·T independent nets of C units; gates lie one after the
// other. The arithmetic is that of PyTorch's RNNCell, GRUCell and LSTMCell.

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Cho et al. 2014, as PyTorch has it; gates r, z, n:
///
///     r = σ(p_r + u_r),   z = σ(p_z + u_z),   n = tanh(p_n + r u_n),   h' = (1 - z) n + z h
///
/// projected p, recurrent u [B, T, 3C] and hidden h [B, T, C], undefined for h = 0: h' [B, T, C].
/// Throws when the shapes do not fit together.
Tensor gru_step(const Tensor& projected, const Tensor& recurrent, const Tensor& hidden);

/// Hochreiter & Schmidhuber 1997; gates i, f, g, o:
///
///     i, f, o = σ(p + u),   g = tanh(p_g + u_g),   c' = f c + i g,   h' = o tanh(c')
///
/// sums p + u [B, T, 4C] and cell c [B, T, C], undefined for c = 0: h' and c' as [2, B, T, C].
/// Throws when the shapes do not fit together.
Tensor lstm_step(const Tensor& sums, const Tensor& cell);

/// PyTorch's cells; `rnn` is Elman's net, h' = tanh(p + u).
enum class RecurrentCell { rnn, gru, lstm };

/// The last h of a cell that runs from h = c = 0 over each window of tokens, with u = W h + b:
///
///     y_t = h_s,     h_n = cell(p_{t+n-1}, u, h_{n-1}),  n = 1 … s
///
/// projected p [B, s - 1 + T, gC], weight W [gC, C], bias b [gC] or undefined: y [B, T, C] for
/// windows of s tokens. Throws when the shapes do not fit together. PyTorch: nn.LSTM and the like
/// over x.unfold(1, s, 1), which projects each token s times.
Tensor recurrent_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                         const Tensor& bias, int64_t window);

/// The windows from plain ops, one step of all of them at a time: for readers and for the tests of
/// the above.
Tensor composed_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                        const Tensor& bias, int64_t window);

/// Throws, in the name of recurrent_windows, when the shapes do not fit together.
void check_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                   const Tensor& bias, int64_t window);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
