#pragma once

// The Transformer (Vaswani et al. 2017): a source is read as a whole, a target is written behind it
// token by token.
//
//     s_0 = embedding(source),   s_l = block_l(s_{l-1}),   mixers that see both ways
//     t_0 = embedding(target),   t_l = block_l(t_{l-1}, norm(s_L)),   causal ones, and attention
//                                                                     to the source
//     logits of the next token = norm(t_L) W_outputᵀ + b
//
// Any mixer that has a form for it can stand on either side. The paper's model has
// multi_head_attention, sinusoids, norm_first and final_norm false, everything shared, tied and
// scaled. PyTorch: nn.Transformer between embeddings.

#include <optional>
#include <string>
#include <vector>

#include "shiftgrad/core/array.h"
#include "shiftgrad/nn/models/encoder_decoder_block.h"
#include "shiftgrad/nn/models/token_embedding.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct EncoderDecoder;

struct EncoderDecoderConfig {
  using Layer = EncoderDecoder;
  static constexpr const char* type = "encoder_decoder";
  int64_t source_vocab_size = 0;
  int64_t target_vocab_size = 0;
  int64_t d_model = 0;
  int64_t n_encoder_layer = 0;
  int64_t n_decoder_layer = 0;
  int64_t n_head = 0;
  int64_t d_inner = 0;
  /// Take d_model, n_head and their direction from the model.
  MixerConfig encoder_mixer{};
  MixerConfig decoder_mixer{};
  bool norm_first = true;
  /// After the last block of either side.
  bool final_norm = true;
  std::string activation = "relu";
  /// `none`, `sinusoid` or `learned`, which needs max_len.
  std::string encoder_position = "none";
  std::string decoder_position = "none";
  std::optional<int64_t> encoder_max_len{};
  std::optional<int64_t> decoder_max_len{};
  /// Both sides have one embedding, and one vocabulary.
  bool share_embedding = false;
  /// The output weight is the target's embedding.
  bool tie_embedding = false;
  /// Multiplies the embeddings by √d_model.
  bool embedding_scale = false;
  /// On the embeddings with their positions, inside the blocks, and before the output.
  double dropout = 0;
  double attention_dropout = 0;

  template <class Fields>
  void fields(Fields& field) {
    field("source_vocab_size", source_vocab_size);
    field("target_vocab_size", target_vocab_size);
    field("d_model", d_model);
    field("n_encoder_layer", n_encoder_layer);
    field("n_decoder_layer", n_decoder_layer);
    field("n_head", n_head);
    field("d_inner", d_inner);
    field("encoder_mixer", encoder_mixer);
    field("decoder_mixer", decoder_mixer);
    field("norm_first", norm_first);
    field("final_norm", final_norm);
    field("activation", activation);
    field("encoder_position", encoder_position);
    field("decoder_position", decoder_position);
    field("encoder_max_len", encoder_max_len);
    field("decoder_max_len", decoder_max_len);
    field("share_embedding", share_embedding);
    field("tie_embedding", tie_embedding);
    field("embedding_scale", embedding_scale);
  }
};

/// Sequences of unequal length side by side.
struct PaddedTokens {
  Tokens tokens;                          ///< [B, T]
  std::shared_ptr<const Mask> padding{};  ///< [B, T], true = filled up; null where nothing is
};

/// The sequences, each followed by as much of `fill` as makes them equally long, and at least 1.
PaddedTokens padded(const std::vector<std::vector<int32_t>>& sequences, int32_t fill = 0);

/// What a decoder attends to.
struct Encoded {
  Tensor output;                          ///< [B, S, C]
  std::shared_ptr<const Mask> padding{};  ///< [B, S], or null
};

/// Targets under way: what the decoder's blocks keep of them, and the source's keys and values,
/// projected once. Rows N of targets attend to B sources, N / B in turn to each.
struct DecoderState {
  std::vector<std::unique_ptr<State>> blocks;
  std::vector<KeysAndValues> sources;  // of each block
  std::shared_ptr<const Mask> source_padding;
  int64_t position = 0;  // tokens fed

  DecoderState clone() const;
  /// Row n continues from what was row rows[n] until now. It must have attended to the same source.
  void reorder(const std::vector<int64_t>& rows);
  /// Only these sources stay, in this order, and of the rows those of `rows`, as in `reorder`.
  void keep(const std::vector<int64_t>& kept_sources, const std::vector<int64_t>& rows);
};

struct EncoderDecoder : Module {
  EncoderDecoderConfig config;
  TokenEmbedding source_embedding, target_embedding;
  std::vector<std::unique_ptr<TransformerBlock>> encoder;
  std::vector<std::unique_ptr<EncoderDecoderBlock>> decoder;
  LayerNorm encoder_norm, decoder_norm;
  Tensor output_weight;  // [V, C]
  Tensor output_bias;    // [V]

  /// Everything starts as its module says; the projections back into the residual streams of a
  /// norm-first model start smaller by 1/√(parts of its side), as GPT-2's. Throws when the config
  /// names no model.
  EncoderDecoder(const EncoderDecoderConfig& config, Random& random);

  /// Padding is hidden from all that attends: what is there changes no bit of the rest.
  Encoded encode(const PaddedTokens& source, Context& context) const;

  /// targets [B, T] beside their sources: logits [B, T, V], those at i of the token behind it.
  /// Padding at the end needs no mask, for nothing before it sees it. `alignments`, if given,
  /// receives each block's cross-attention [B, H, T, S]; the context's recorder the rest.
  Tensor decode(const PaddedTokens& targets, const Encoded& source, Context& context,
                const ProbabilityRecorder& alignments = {}) const;

  /// Both.
  Tensor forward(const PaddedTokens& source, const PaddedTokens& targets, Context& context) const;

  /// A state before the first token of any number of targets for each source.
  DecoderState start(const Encoded& source) const;
  /// targets [N, T] behind what the state has seen: logits [N, T, V].
  Tensor decode(const Tokens& targets, DecoderState& state, Context& context) const;

  /// How many tokens a source and a target may have; `unlimited` where no position is absolute and
  /// learned.
  int64_t longest_source() const;
  int64_t longest_target() const;

  void visit(Visitor& visitor) const override;

 private:
  Tensor logits(const Tensor& x, Context& context) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
