#pragma once

// A language model takes tokens and returns the logits of the next token.
//
//     h_0 = embedding(token) (· √C) (+ position)
//     h_l = block_l(h_{l-1} (+ position_l), memory_l)
//     logits = norm(h_L) W_outputᵀ + b,   W_output the embedding itself when tied
//
// With transformer_xl_attention, norm_first and final_norm false, and everything tied and scaled,
// it is the paper's Transformer-XL (Dai et al. 2019). With multi_head_attention and learned
// positions, it is the vanilla model of Al-Rfou et al. 2018, which adds positions before each
// block.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/models/blocks.h"
#include "nn/models/token_embedding.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of a LanguageModel.
struct LanguageModelConfig {
  using Layer = struct LanguageModel;
  static constexpr const char* type = "language_model";
  int64_t vocab_size = 0;
  int64_t d_model = 0;
  int64_t n_layer = 0;  // blocks
  int64_t n_head = 0;
  int64_t d_inner = 0;
  /// Type of the blocks. A transformer_block uses the mixer, norm_first and activation, an
  /// r_transformer_block window, cell and rnn_layers.
  BlockType block = BlockType::transformer_block;
  /// The mixer of each block. It takes d_model and n_head from the model.
  MixerConfig mixer{};
  /// Whether the blocks have a mixer of the program's own instead, which only its maker can make.
  bool own_mixer = false;
  int64_t window = 0;  // tokens of a LocalRNN's window
  RecurrentCell cell = RecurrentCell::rnn;
  int64_t rnn_layers = 1;
  bool norm_first = true;
  bool final_norm = true;
  Activation activation = Activation::relu;
  /// Positions added to the embedding. Learned ones need max_len.
  TokenPosition position = TokenPosition::none;
  std::optional<int64_t> max_len{};
  /// Whether each block but the first adds learned positions of its own to its input, and to its
  /// memory, which then holds positions 0 to M-1. Only with learned positions.
  bool layer_positions = false;
  /// Whether the output weight is the embedding's.
  bool tie_embedding = false;
  /// Whether the embedding is multiplied by √d_model.
  bool embedding_scale = false;
  /// Whether all blocks share one u and v. Only for sinusoid transformer_xl_attention.
  bool tie_position_biases = false;
  /// Dropout rate of the embedding with its position, inside the blocks, and before the output.
  double dropout = 0;
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(vocab_size, {"vocab_size", "tokens that there are", quantity::tokens});
    blocks_fields(*this, field);
    field(position, {"position", "positions added to the embeddings"});
    field(max_len, {"max_len", "learned positions", quantity::tokens});
    field(layer_positions, fields::layer_positions(), false);
    field(tie_embedding, fields::tie_embedding());
    field(embedding_scale, fields::embedding_scale());
    field(tie_position_biases, fields::tie_position_biases());
    field(dropout, fields::dropout());
    field(attention_dropout, fields::attention_dropout());
  }
};

/// Embedding, blocks and output layer that predict the next token. A model that gives it masks of
/// its own, or does anything else around it, is a SequenceModel that has a LanguageModel for a
/// member: training calls `forward`, writing and evaluation call `step`, and a model that derived
/// from this one and replaced `forward` alone would be trained as one function and used as another.
struct LanguageModel : SequenceModel {
  LanguageModelConfig config;
  /// What stands before the first block.
  TokenEmbedding embedding;
  /// The blocks and the last norm.
  Blocks blocks;
  Linear output;  // [V, C]

  /// Starts every parameter as its module says. Throws when the config describes no valid model.
  ///
  /// `own_mixer`, if given, makes the mixers of the transformer_blocks, in place of the config's
  /// mixer. The model's config then says so, and a model of that config cannot be made without it.
  LanguageModel(const LanguageModelConfig& config, Init init, const MixerMaker& own_mixer = {});

  ModelTraits traits() const override;

  /// Returns the logits for tokens [B, T]; token i is at position M + i.
  ModelOutput forward(const Tokens& tokens, const Memory& memory, Context& context) const final;

  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const final;
  Tensor step(const Tokens& tokens, Cache& cache, Context& context) const final;

  Limits limits() const override { return embedding.limits().with(blocks.limits()); }
  std::string config_text() const override;
  void visit(Visitor& visitor) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
