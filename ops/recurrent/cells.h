#pragma once

// One step of a recurrent cell on a single net, and its gradient, in one pass over memory. A row
// holds what the gradient needs, in columns of C elements. Before the step, the first columns hold
// the product u:
//
//     RNN    [u]                       ->  [h']
//     GRU    [u_r u_z u_n  .  .]       ->  [r z n u_n h']
//     LSTM   [u_i u_f u_g u_o  .  .]   ->  [i f g o c' h']
//
// The equations are in `ops/recurrent.h`. The derivatives by the sums in them are worked out from
// the gates: σ' = σ (1 - σ), tanh' = 1 - tanh².

#include "ops/recurrent.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Numbers of columns, and which column holds what.
struct CellColumns {
  int64_t gates;     ///< columns of p and u
  int64_t row;       ///< columns of a row
  int64_t gradient;  ///< columns of the gradients of p and u; the first `gates` are those of u
  int64_t state;     ///< where a row has what the next step needs beside its product
  int64_t hidden;    ///< where a row has h'
};

constexpr CellColumns columns(RecurrentCell cell) {
  if (cell == RecurrentCell::rnn) return {1, 1, 1, 0, 0};
  if (cell == RecurrentCell::gru) return {3, 5, 4, 4, 4};
  return {4, 6, 4, 4, 5};
}

/// Runs one step. before is GRU's h or LSTM's c, null for 0; bias is added to u, null for none.
extern void (*const cell_forward)(RecurrentCell cell, const Scalar* p, const Scalar* bias,
                                  const Scalar* before, Scalar* row, int64_t C);

/// Computes the gradients d of all sums from dh', and from dc' for LSTM. dh and dc then hold what h
/// and c get without the product: a GRU's h, an LSTM's c.
extern void (*const cell_backward)(RecurrentCell cell, const Scalar* row, const Scalar* before,
                                   Scalar* dh, Scalar* dc, Scalar* d, int64_t C);

/// dp += d. In d, the last column of GRU is p_n's, beside the one of u_n.
void add_projected_gradient(RecurrentCell cell, const Scalar* d, Scalar* dp, int64_t C);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
