#pragma once

// LocalRNN (Wang et al. 2019, "R-Transformer", section 3.1): for each token, a recurrent net starts
// from h = 0 and runs over a window, which is the token and the s - 1 tokens before it. Its last
// hidden state is the output.
//
//     h_t = RNN(x_{t-s+1}, …, x_t),   x = 0 before the start
//
// The cells are PyTorch's: `rnn` (tanh), `gru` (gates r, z, n) and `lstm` (i, f, g, o).

#include <string>

#include "nn/layer.h"
#include "nn/linear.h"
#include "nn/width.h"
#include "ops/recurrent.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of a LocalRnn.
struct LocalRnnConfig {
  using Layer = struct LocalRnn;
  static constexpr const char* type = "local_rnn";
  static constexpr KnownModel known{"local_rnn", "a recurrent network over a window"};
  /// s, the number of tokens in a window, at most 65536.
  int64_t window = 0;
  RecurrentCell cell = RecurrentCell::rnn;

  void fields(auto&& field) {
    field(window, fields::rnn_window());
    field(cell, fields::cell());
  }

  /// What a model has unless told otherwise.
  static LocalRnnConfig defaults() { return {.window = 7, .cell = RecurrentCell::gru}; }
};

constexpr bool has_heads(const LocalRnnConfig&) { return false; }
void width_fields(const LocalRnnConfig&, Width& width, auto&& field) {
  field(width.d_model, fields::d_model());
}

/// A recurrent net over a window of tokens that ends at each token.
struct LocalRnn : Layer {
  LocalRnnConfig config;
  /// C, the channels of a token.
  int64_t d_model;
  Linear input;   // weight_ih [gC, C], bias_ih [gC] for g gates
  Linear hidden;  // weight_hh [gC, C], bias_hh [gC]

  /// Draws all parameters uniformly from ±1/√C, as PyTorch's cells do. Throws when the config
  /// describes no valid layer.
  LocalRnn(const LocalRnnConfig& config, Width width, Init init);

  Tensor forward(const Tensor& x, const Past& past, Context& context) const override;
  /// Returns a cache that holds the hidden states of the s - 1 windows still open, so each token
  /// costs the same. With a limit below s - 1 it holds the last inputs instead, since windows would
  /// reach back beyond the limit.
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const override;
  void visit(Visitor& visitor) const override;

  /// Returns W_ih x + b_ih [.., gC]. b_hh is added too, except for GRU, which multiplies n's share
  /// of it by the gate r.
  Tensor project(const Tensor& x) const;
  /// Runs one step of the cell from the projected input. `before` is undefined for h = c = 0.
  RecurrentState step(const Tensor& projected, const RecurrentState& before) const;

 private:
  /// Returns y [B, T, C]. `open` holds the windows that are open before x, and afterwards those
  /// that are open after it.
  Tensor slide(const Tensor& x, RecurrentState& open) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
