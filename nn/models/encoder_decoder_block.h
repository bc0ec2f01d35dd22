#pragma once

// The decoder's block of the Transformer (Vaswani et al. 2017, section 3.1): a mixer over the
// block's own tokens, attention to the encoder's output, and a feed-forward net.
//
//     f_1 = mixer(·),   f_2 = cross_attention(·, source),   f_3 = FFN(·)
//
// with the norm first or last. The source is not normed, as in PyTorch's
// nn.TransformerDecoderLayer.

#include "nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of an EncoderDecoderBlock.
struct EncoderDecoderBlockConfig : TransformerBlockConfig {
  using Layer = struct EncoderDecoderBlock;
  static constexpr const char* type = "encoder_decoder_block";
  /// Number of heads of the cross-attention. The default is the mixer's number; it is required
  /// where the mixer has no heads.
  std::optional<int64_t> n_head{};
  /// Dropout rate of the cross-attention's probabilities.
  double attention_dropout = 0;

  void fields(auto&& field) {
    TransformerBlockConfig::fields(field);
    field(n_head, {"n_head", "heads of the cross-attention", quantity::heads});
    field(attention_dropout, fields::attention_dropout());
  }
};

/// Attention to the source in the context, or to the one that a cache began with.
struct CrossAttention : MultiHeadAttention {
  using MultiHeadAttention::MultiHeadAttention;

  Tensor forward(const Tensor& x, const Past& past, Context& context) const override;
  /// Returns a cache that keeps the keys and values of the source of its first call, and its
  /// padding mask. N rows of x may attend to B sources, N / B consecutive rows to each.
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const override;
  LayerTerms terms(const Tensor&, const Past&, Context&) const override { return {}; }
};

/// A block of three parts: mixer, cross_attention and feed_forward. The context of a call needs a
/// `source` [B, S, C], whose own context has the masks of the cross-attention. A cache keeps the
/// source of its first call.
struct EncoderDecoderBlock : TransformerBlock {
  /// Builds the block, around a mixer of the program's own if that is given. Throws when the config
  /// describes no valid block.
  EncoderDecoderBlock(const EncoderDecoderBlockConfig& config, Width width, Init init,
                      std::unique_ptr<Layer> own_mixer = nullptr);
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
