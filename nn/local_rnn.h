#pragma once

// LocalRNN (Wang et al. 2019, "R-Transformer", section 3.1): for each token, a recurrent net runs
// over the window of the token itself and the s - 1 before it, from h = 0; its last hidden state is
// the output.
//
//     h_t = RNN(x_{t-s+1}, …, x_t),   x = 0 before the start
//
// The cells are PyTorch's: `rnn` (tanh), `gru` (gates r, z, n) and `lstm` (i, f, g, o).

#include <string>

#include "shiftgrad/nn/layer.h"
#include "shiftgrad/nn/linear.h"
#include "shiftgrad/ops/recurrent.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct LocalRnn;

struct LocalRnnConfig {
  using Layer = LocalRnn;
  static constexpr const char* type = "local_rnn";
  int64_t d_model = 0;
  /// s, the tokens in a window, at most 65536.
  int64_t window = 0;
  /// `rnn`, `gru` or `lstm`.
  std::string cell = "rnn";

  template <class Fields>
  void fields(Fields& field) {
    field("d_model", d_model);
    field("window", window);
    field("cell", cell);
  }
};

struct LocalRnn : Layer {
  /// The hidden state [.., C], and an LSTM's cell state beside it.
  struct Hidden {
    Tensor h, c;
  };

  using Cell = RecurrentCell;
  Cell cell = Cell::rnn;
  int64_t d_model = 0, window = 0;
  Linear input;   // weight_ih [gC, C], bias_ih [gC] for g gates
  Linear hidden;  // weight_hh [gC, C], bias_hh [gC]

  /// Everything starts uniform in ±1/√C, as PyTorch's cells. Throws when the config names no layer.
  LocalRnn(const LocalRnnConfig& config, Random& random);

  Tensor forward(const Tensor& x, const Tensor& memory, Context& context) const override;
  /// The hidden states of the s - 1 windows that are still open: constant cost a token. With a
  /// limit below s - 1, the last inputs instead, since windows would reach behind it.
  std::unique_ptr<State> start(int64_t limit = unlimited) const override;
  Tensor forward(const Tensor& x, State& state, Context& context) const override;
  void visit(Visitor& visitor) const override;

  /// W_ih x + b_ih [.., gC], with b_hh on top but for GRU, which multiplies n's by the gate r.
  Tensor project(const Tensor& x) const;
  /// One step of the cell from the projected input; `before` is undefined at h = c = 0.
  Hidden step(const Tensor& projected, const Hidden& before) const;

 private:
  /// y [B, T, C] from the windows that are open before x, which then are those open behind it.
  Tensor slide(const Tensor& x, Hidden& open) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
