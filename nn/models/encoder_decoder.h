#pragma once

// The Transformer (Vaswani et al. 2017): it reads a source as a whole, then writes a target token
// by token.
//
//     s_0 = embedding(source),   s_l = block_l(s_{l-1}),   mixers that see both ways
//     t_0 = embedding(target),   t_l = block_l(t_{l-1}, norm(s_L)),   causal ones, and attention
//                                                                     to the source
//     logits of the next token = norm(t_L) W_outputᵀ + b
//
// The encoder takes any mixer that has a two-way form, the decoder any mixer. The paper's model has
// multi_head_attention and sinusoids, norm_first and final_norm are false, and all is shared, tied
// and scaled. PyTorch: nn.Transformer between embeddings.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/array.h"
#include "nn/models/blocks.h"
#include "nn/models/token_embedding.h"
#include "nn/padded.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of an EncoderDecoder.
struct EncoderDecoderConfig {
  using Layer = struct EncoderDecoder;
  static constexpr const char* type = "encoder_decoder";
  int64_t source_vocab_size = 0;
  int64_t target_vocab_size = 0;
  int64_t d_model = 0;
  int64_t n_encoder_layer = 0;
  int64_t n_decoder_layer = 0;
  int64_t n_head = 0;
  int64_t d_inner = 0;
  /// Mixers of either side. They take d_model, n_head and their direction from the model.
  MixerConfig encoder_mixer{};
  MixerConfig decoder_mixer{};
  bool norm_first = true;
  /// Whether a norm follows the last block of either side.
  bool final_norm = true;
  Activation activation = Activation::relu;
  /// Positions added to the embeddings. Learned ones need a max_len.
  TokenPosition encoder_position = TokenPosition::none;
  TokenPosition decoder_position = TokenPosition::none;
  std::optional<int64_t> encoder_max_len{};
  std::optional<int64_t> decoder_max_len{};
  /// Whether both sides share one embedding, and so one vocabulary.
  bool share_embedding = false;
  /// Whether the output weight is the target's embedding.
  bool tie_embedding = false;
  /// Whether the embeddings are multiplied by √d_model.
  bool embedding_scale = false;
  /// Dropout rate of the embeddings with their positions, inside the blocks, and before the output.
  double dropout = 0;
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(source_vocab_size,
          {"source_vocab_size", "tokens that sources may have", quantity::tokens});
    field(target_vocab_size,
          {"target_vocab_size", "tokens that targets may have", quantity::tokens});
    field(d_model, fields::d_model());
    field(n_encoder_layer, {"n_encoder_layer", "blocks of the encoder", quantity::layers});
    field(n_decoder_layer, {"n_decoder_layer", "blocks of the decoder", quantity::layers});
    field(n_head, fields::n_head());
    field(d_inner, fields::d_inner());
    field(encoder_mixer, {"encoder_mixer", "how a source's tokens see each other"}, required);
    field(decoder_mixer, {"decoder_mixer", "how a target's tokens see those before them"},
          required);
    field(norm_first, fields::norm_first());
    field(final_norm, fields::final_norm());
    field(activation, fields::activation());
    field(encoder_position, {"encoder_position", "positions added to the sources' embeddings"});
    field(decoder_position, {"decoder_position", "positions added to the targets' embeddings"});
    field(encoder_max_len, {"encoder_max_len", "learned positions of a source", quantity::tokens});
    field(decoder_max_len, {"decoder_max_len", "learned positions of a target", quantity::tokens});
    field(share_embedding, {"share_embedding", "share one embedding between sources and targets"});
    field(tie_embedding, fields::tie_embedding());
    field(embedding_scale, fields::embedding_scale());
    field(dropout, fields::dropout());
    field(attention_dropout, fields::attention_dropout());
  }
};

/// What a decoder attends to.
struct Encoded {
  Tensor output{};                        ///< [B, S, C]
  std::shared_ptr<const Mask> padding{};  ///< [B, S], or null
};

/// A Transformer that reads a source and writes a target. PyTorch: nn.Transformer.
struct EncoderDecoder : StatefulModule {
  EncoderDecoderConfig config;
  /// What stands before the blocks of either side.
  TokenEmbedding source_embedding, target_embedding;
  /// The blocks and the norm of either side.
  Blocks encoder, decoder;
  Linear output;  // [V, C]

  /// Starts every parameter as its module says. Throws when the config describes no valid model.
  EncoderDecoder(const EncoderDecoderConfig& config, Init init);

  /// Encodes the source [B, S, C]. Padding is hidden from all attention, so its content changes no
  /// bit of the rest.
  Encoded encode(const Padded<Tokens>& source, Context& context) const;

  /// Returns the logits [B, T, V] for targets [B, T] and their sources; the logits at i are those
  /// of the token after i. Padding at the end needs no mask, since no earlier token sees it.
  /// `alignments`, if given, receives each block's cross-attention [B, H, T, S]. The context's
  /// recorder receives all other attention.
  Tensor decode(const Padded<Tokens>& targets, const Encoded& source, Context& context,
                const ProbabilityRecorder& alignments = {}) const;

  /// Encodes the source and decodes the targets.
  Tensor operator()(const Padded<Tokens>& source, const Padded<Tokens>& targets,
                    Context& context) const {
    return decode(targets, encode(source, context), context);
  }

  /// Returns a cache before the first token. N rows of targets attend to B sources; each source has
  /// N/B consecutive rows. Rows that one source's rows continue after `reorder` attend to it as
  /// well, so a reorder to fewer rows may leave sources out.
  std::unique_ptr<Cache> make_cache(const Encoded& source) const;
  /// Returns the logits [N, T, V] for targets [N, T] after what the cache has seen, and adds them
  /// to the cache. A call that throws leaves the cache as it was. The sources' keys and values are
  /// projected once, at the first call.
  Tensor decode(const Tokens& targets, Cache& cache, Context& context) const;

  /// The largest number of tokens in a source, and in a target. It is `unlimited` unless positions
  /// are absolute and learned.
  int64_t longest_source() const { return source_embedding.limits().with(encoder.limits()).length; }
  /// The largest number of tokens in a target.
  int64_t longest_target() const { return target_embedding.limits().with(decoder.limits()).length; }

  void visit(Visitor& visitor) const override;

 private:
  Tensor logits(const Padded<Tokens>& targets, const Encoded& source, Caches* caches,
                Context& context, const ProbabilityRecorder& alignments) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
