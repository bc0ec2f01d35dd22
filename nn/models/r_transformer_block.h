#pragma once

// The R-Transformer's block (Wang et al. 2019, section 3.4). It has a local recurrent net that sees
// the order of neighbours, attention without positions over its outputs, and a feed-forward net:
//
//     x + LocalRNN(norm(x)),   x + Attention(norm(x)),   x + FFN(norm(x))
//
// A block may have several layers of the first kind, one above the other.
//
// As in the authors' code, norm(x) = w (x - mean)/(std + 1e-6) + b, where std divides by n - 1.

#include "nn/feed_forward.h"
#include "nn/local_rnn.h"
#include "nn/models/block.h"
#include "nn/multi_head_attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of an RTransformerBlock.
struct RTransformerBlockConfig {
  using Layer = struct RTransformerBlock;
  static constexpr const char* type = "r_transformer_block";
  static constexpr KnownModel known{"r_transformer", "local_rnn below attention"};
  /// Number of tokens in a window of the recurrent net.
  int64_t window = 0;
  RecurrentCell cell = RecurrentCell::rnn;
  int64_t d_inner = 0;
  /// Number of local recurrent nets, one above the other; the authors' --n.
  int64_t rnn_layers = 1;
  double dropout = 0;
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(window, fields::rnn_window());
    field(cell, fields::cell());
    field(d_inner, fields::d_inner());
    field(rnn_layers, fields::rnn_layers(), int64_t{1});
    field(dropout, fields::dropout());
    field(attention_dropout, fields::attention_dropout());
  }
};

/// A block whose parts are local_rnn, local_rnn_2 and so on from the lowest, attention and
/// feed_forward.
struct RTransformerBlock : Block {
  /// Builds the block. Throws when the config describes no valid block.
  RTransformerBlock(const RTransformerBlockConfig& config, Width width, Init init);

  /// Returns the output [B, T, C]. Throws on masks, and on a memory, since the attention would need
  /// the recurrent net's outputs for it. Feed pieces through the cache instead.
  Tensor forward(const Tensor& x, const Past& past, Context& context) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
