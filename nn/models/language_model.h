#pragma once

// A language model: tokens in, logits of the next token out.
//
//     h_0 = embedding(token) (· √C) (+ position)
//     h_l = block_l(h_{l-1}, memory_l)
//     logits = norm(h_L) W_outputᵀ + b,   W_output the embedding itself when tied
//
// With transformer_xl_attention, norm_first false, final_norm false, and everything tied and scaled
// it is the paper's Transformer-XL (Dai et al. 2019); with multi_head_attention and learned
// positions, the vanilla model of Al-Rfou et al. 2018.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shiftgrad/core/array.h"
#include "shiftgrad/nn/models/r_transformer_block.h"
#include "shiftgrad/nn/models/token_embedding.h"
#include "shiftgrad/nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct LanguageModel;

struct LanguageModelConfig {
  using Layer = LanguageModel;
  static constexpr const char* type = "language_model";
  int64_t vocab_size = 0;
  int64_t d_model = 0;
  int64_t n_layer = 0;
  int64_t n_head = 0;
  int64_t d_inner = 0;
  /// `transformer_block`, made of the mixer, norm_first and activation, or `r_transformer_block`,
  /// made of window and cell.
  std::string block = "transformer_block";
  /// Takes d_model and n_head from the model.
  MixerConfig mixer{};
  /// The blocks have a mixer of the program's own in its place, which only its maker can make.
  bool own_mixer = false;
  int64_t window = 0;
  std::string cell = "rnn";
  bool norm_first = true;
  bool final_norm = true;
  std::string activation = "relu";
  /// `none`, `sinusoid` or `learned`, which needs max_len.
  std::string position = "none";
  std::optional<int64_t> max_len{};
  /// The output weight is the embedding's.
  bool tie_embedding = false;
  /// Multiplies the embedding by √d_model.
  bool embedding_scale = false;
  /// One u and v for all blocks; only with sinusoid transformer_xl_attention.
  bool tie_position_biases = false;
  /// On the embedding with its position, inside the blocks, and before the output.
  double dropout = 0;
  double attention_dropout = 0;

  template <class Fields>
  void fields(Fields& field) {
    field("vocab_size", vocab_size);
    field("d_model", d_model);
    field("n_layer", n_layer);
    field("n_head", n_head);
    field("d_inner", d_inner);
    field("block", block);
    if (block == RTransformerBlockConfig::type) {
      field("window", window);
      field("cell", cell);
    } else {
      field("mixer", mixer);
      field("own_mixer", own_mixer, false);
      field("norm_first", norm_first);
      field("activation", activation);
    }
    field("final_norm", final_norm);
    field("position", position);
    field("max_len", max_len);
    field("tie_embedding", tie_embedding);
    field("embedding_scale", embedding_scale);
    field("tie_position_biases", tie_position_biases);
  }
};

/// The inputs of each block for earlier tokens, [B, M, C] each and constant: what training carries
/// from one segment to the next.
using Memory = std::vector<Tensor>;

/// The last `length` tokens of `memory` followed by `inputs`, detached (Dai et al. 2019,
/// section 3.2). `memory` may be empty.
Memory remember(const Memory& memory, const std::vector<Tensor>& inputs, int64_t length);

/// The states of all blocks, and how many tokens they have been fed.
struct LanguageModelState {
  std::vector<std::unique_ptr<State>> blocks;
  int64_t position = 0;

  LanguageModelState clone() const;
  void forget_newest(int64_t count);
  void reorder(const std::vector<int64_t>& members);
};

/// Makes the mixer of one block.
using MixerMaker = std::function<std::unique_ptr<Layer>(Random&)>;

struct LanguageModel : Module {
  LanguageModelConfig config;
  TokenEmbedding embedding;
  Tensor content_bias, position_bias;  // u, v [H, D], where tied
  std::vector<std::unique_ptr<Layer>> blocks;
  LayerNorm final_norm;
  Tensor output_weight;  // [V, C]
  Tensor output_bias;    // [V]

  /// Everything starts as its module says; the projections back into the residual stream of a
  /// norm-first model start smaller by 1/√(2 n_layer) (Radford et al. 2019, section 2.3). Throws
  /// when the config names no model.
  ///
  /// `own_mixer`, if given, makes what the transformer_blocks have in place of the config's mixer.
  /// The model's config then says so: a model of that config cannot be made without it.
  LanguageModel(const LanguageModelConfig& config, Random& random,
                const MixerMaker& own_mixer = {});

  /// tokens [B, T] behind the memory of each block, or none when it is empty: logits [B, T, V].
  /// Token i stands at position M + i. `block_inputs`, if given, receives each block's input for
  /// `remember`.
  Tensor forward(const Tokens& tokens, const Memory& memory, Context& context,
                 std::vector<Tensor>* block_inputs = nullptr) const;

  /// The two halves of that: what the output layer reads of each token, [B, T, C], and the logits
  /// that it makes of it.
  Tensor features(const Tokens& tokens, const Memory& memory, Context& context,
                  std::vector<Tensor>* block_inputs = nullptr) const;
  Tensor logits(const Tensor& features) const;

  /// A state that has seen nothing and keeps at most `limit` tokens a block.
  LanguageModelState start(int64_t limit = unlimited) const;
  /// tokens [B, T] behind what the state has seen: logits [B, T, V].
  Tensor forward(const Tokens& tokens, LanguageModelState& state, Context& context) const;

  /// How many tokens a sequence may have from its start on; `unlimited` where no position is
  /// absolute and learned.
  int64_t longest() const;
  /// How many tokens one pass may see, those in memory and its own; `unlimited` where no position
  /// and no distance has a learned row of its own.
  int64_t most_keys() const;

  void visit(Visitor& visitor) const override;

 private:
  /// Of the last block's output.
  Tensor features(const Tensor& x, Context& context) const;
  std::unique_ptr<Layer> build_block(Random& random, const MixerMaker& own_mixer);
  void tie_position_biases();
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
