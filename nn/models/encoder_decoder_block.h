#pragma once

// The decoder's block of the Transformer (Vaswani et al. 2017, section 3.1): a mixer over the
// block's own tokens, attention to the encoder's output, and a feed-forward net,
//
//     f_1 = mixer(·),   f_2 = cross_attention(·, context),   f_3 = FFN(·)
//
// each as x + f(norm(x)) or norm(x + f(x)). The context is not normed, as in PyTorch's
// nn.TransformerDecoderLayer.

#include "nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct EncoderDecoderBlock;

struct EncoderDecoderBlockConfig : TransformerBlockConfig {
  using Layer = EncoderDecoderBlock;
  static constexpr const char* type = "encoder_decoder_block";
  /// Number of heads of the cross-attention. The default is the mixer's number; it is required
  /// where the mixer has no heads.
  std::optional<int64_t> n_head{};

  template <class Fields>
  void fields(Fields& field) {
    TransformerBlockConfig::fields(field);
    field("n_head", n_head);
  }
};

struct EncoderDecoderBlock : Module {
  std::unique_ptr<Layer> mixer;
  LayerNorm mixer_norm;
  std::unique_ptr<MultiHeadAttention> cross_attention;
  LayerNorm cross_attention_norm;
  FeedForward feed_forward;
  LayerNorm feed_forward_norm;
  bool norm_first = true;
  double dropout = 0;

  /// Builds the block. Throws when the config describes no valid block.
  EncoderDecoderBlock(const EncoderDecoderBlockConfig& config, Random& random);

  /// Returns the output [B, T, C] for x [B, T, C] after `memory` [B, M, C], which may be undefined,
  /// with attention to `source` [B, S, C]. The masks of `context` are for the mixer, those of
  /// `cross_context` for the cross-attention.
  Tensor operator()(const Tensor& x, const Tensor& memory, const Tensor& source, Context& context,
                    Context& cross_context) const;

  /// Returns the mixer's state before the first token.
  std::unique_ptr<State> start() const { return mixer->start(); }
  /// Returns the output [N, T, C] for x [N, T, C] after the tokens in `state`, with attention to
  /// what `cross_attention->source_heads` made of B sources. N is a multiple of B, and N / B
  /// consecutive rows attend to each source.
  Tensor operator()(const Tensor& x, State& state, const KeysAndValues& source, Context& context,
                    Context& cross_context) const;

  /// The weights of the projections into the residual stream, as `Layer` has them.
  std::vector<Tensor> residual_projections() const;

  void visit(Visitor& visitor) const override;

 private:
  /// Runs the three parts in turn. The first two are given as functions of their normed input.
  template <class Mix, class Cross>
  Tensor run(const Tensor& x, Context& context, Mix mix, Cross cross) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
