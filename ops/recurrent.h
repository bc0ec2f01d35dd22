#pragma once

// One step of a gated recurrent net, from its two products to the new hidden state, in one pass
// over memory. p is W_ih x + b_ih and u is W_hh h + b_hh, [B, T, gC] each for B·T independent nets
// of C units; gates lie one after the other. The arithmetic is that of PyTorch's GRUCell and
// LSTMCell.

#include "core/tensor.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

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

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
