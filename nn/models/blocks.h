#pragma once

// Blocks on top of each other, and a norm: the part of a model between what reads its input and
// what makes its output. A LanguageModel puts them between an embedding and an output layer, an
// EncoderDecoder has two of them. They take vectors, so they serve any task over sequences.
//
//     h_0 = x,   h_l = block_l(h_{l-1}, memory_l),   y = norm(h_L)
//
// A forecast of a series, which is read in segments with a memory of the last 128 values:
//
//     struct Forecaster : Module {
//       Linear input;
//       Blocks body;
//       Linear output;
//
//       explicit Forecaster(Random& random)
//           : input(1, 64, true, random),
//             body({.d_model = 64, .n_layer = 2, .n_head = 4, .d_inner = 256,
//                   .mixer = TransformerXLAttentionConfig{}}, random),
//             output(64, 1, true, random) {}
//
//       Tensor operator()(const Tensor& series, Memory& memory, Context& context) const {
//         auto [y, inputs] = body(input(series), memory, context);  // [B, T, C]
//         memory = remember(memory, inputs, 128);
//         return output(y);                                         // [B, T, 1]
//       }
//       void visit(Visitor& visitor) const override { … }
//     };
//
// An encoder for classes has mixers that see both ways, and hides the padding of short rows:
//
//     Blocks encoder({.d_model = 64, .n_layer = 2, .n_head = 4, .d_inner = 256,
//                     .mixer = TransformerXLAttentionConfig{.sight = {.causal = false}}}, random);
//     context.key_padding_mask = padding;       // [B, T], true = padding
//     Tensor y = encoder(input(x), context);    // [B, T, C]
//     Tensor logits = output(select(y, 1, 0));  // [B, classes], from the first token

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/named.h"
#include "nn/caches.h"
#include "nn/models/encoder_decoder_block.h"
#include "nn/models/r_transformer_block.h"
#include "nn/models/sequence_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Types of blocks.
enum class BlockType { transformer_block, r_transformer_block };
constexpr auto names(BlockType) { return std::array{"transformer_block", "r_transformer_block"}; }

/// Calls field(value, description) for each of the first fields that the configs of blocks and of
/// models around them share; `tie_position_biases` and the rates come last in both.
template <class Config>
void blocks_fields(Config& config, auto&& field) {
  field(config.d_model, fields::d_model());
  field(config.n_layer, {"n_layer", "blocks of the model", quantity::layers});
  field(config.n_head, fields::n_head());
  field(config.d_inner, fields::d_inner());
  field(config.block, {"block", "type of the blocks"});
  if (config.block == BlockType::r_transformer_block) {
    field(config.window, fields::rnn_window(), required);
    field(config.cell, fields::cell(), required);
    field(config.rnn_layers, fields::rnn_layers(), int64_t{1});
  } else {
    field(config.mixer, {"mixer", "how the tokens see each other"}, required);
    field(config.own_mixer, {"own_mixer", "have a mixer of the program's own"}, false);
    field(config.norm_first, fields::norm_first());
    field(config.activation, fields::activation());
  }
  field(config.final_norm, fields::final_norm());
}

/// Config of Blocks.
struct BlocksConfig {
  using Layer = struct Blocks;
  static constexpr const char* type = "blocks";
  int64_t d_model = 0;
  int64_t n_layer = 0;  // blocks
  int64_t n_head = 0;
  int64_t d_inner = 0;
  /// Type of the blocks. A transformer_block uses the mixer, norm_first and activation, an
  /// r_transformer_block window, cell and rnn_layers.
  BlockType block = BlockType::transformer_block;
  /// The mixer of each block. It takes d_model and n_head from here.
  MixerConfig mixer{};
  /// Whether the blocks have a mixer of the program's own instead, which only its maker can make.
  bool own_mixer = false;
  int64_t window = 0;  // tokens of a LocalRNN's window
  RecurrentCell cell = RecurrentCell::rnn;
  int64_t rnn_layers = 1;
  bool norm_first = true;
  bool final_norm = true;
  Activation activation = Activation::relu;
  /// Whether each transformer_block also attends to the source in the context, as a decoder's does
  /// (EncoderDecoderBlock).
  bool cross_attention = false;
  /// Whether all blocks share one u and v. Only for sinusoid transformer_xl_attention.
  bool tie_position_biases = false;
  /// Dropout rate inside the blocks. What comes before and after them has its own.
  double dropout = 0;
  double attention_dropout = 0;

  void fields(auto&& field) {
    blocks_fields(*this, field);
    field(cross_attention, {"cross_attention", "attend to another sequence, too"});
    field(tie_position_biases, fields::tie_position_biases());
    field(dropout, fields::dropout());
    field(attention_dropout, fields::attention_dropout());
  }
};

/// Makes the mixer of one block, never null.
using MixerMaker = std::function<std::unique_ptr<Layer>(Random&)>;

/// What blocks return for x [B, T, C].
struct BlocksOutput {
  /// norm(h_L) [B, T, C].
  Tensor output{};
  /// The input [B, T, C] of each block, for `remember`.
  std::vector<Tensor> block_inputs{};
};

/// Blocks on top of each other, and a norm. PyTorch: nn.TransformerEncoder, and with
/// cross_attention nn.TransformerDecoder; what sees the past alone is a matter of the mixer.
struct Blocks : StatefulModule {
  BlocksConfig config;
  /// Positions that a model may let each block but the first add to its input and to its memory,
  /// which then holds positions 0 to M-1.
  Tensor layer_positions{};            // [L-1, max_len, C], or undefined
  Tensor content_bias, position_bias;  // u, v [H, D], if tied
  /// The blocks, from the first.
  std::vector<std::unique_ptr<Block>> layers;
  LayerNorm norm;  // without a weight, the last block's output stays as it is

  Blocks() = default;
  /// Starts every parameter as its module says. Where the norms come first in transformer_blocks,
  /// the projections back into the residual stream start smaller by 1/√(their number), which is
  /// 2 n_layer without cross_attention (Radford et al. 2019, section 2.3). Throws an error that
  /// names `owner` when the config describes no valid blocks.
  ///
  /// `own_mixer`, if given, makes the mixers of the transformer_blocks, in place of the config's
  /// mixer. The config then says so.
  Blocks(const BlocksConfig& config, Init init, const MixerMaker& own_mixer = {},
         const char* owner = BlocksConfig::type);

  /// Returns the output [B, T, C] for x [B, T, C], and the inputs of all blocks, after the memory
  /// of each block, which may be empty. The masks of the context cover the memory and x, and hold
  /// for each block. Throws on other shapes.
  BlocksOutput operator()(const Tensor& x, const Memory& memory, Context& context) const;
  /// Returns the output [B, T, C] without a memory.
  Tensor operator()(const Tensor& x, Context& context) const;
  /// Returns the output [B, T, C] for x [B, T, C] after what the cache has seen, and adds x to it.
  /// Throws on the cache of another module and while a tape records. A call that throws leaves the
  /// cache as it was.
  Tensor operator()(const Tensor& x, Cache& cache, Context& context) const;

  /// Returns a cache that has seen nothing and keeps at most `limit` tokens in each block. It is of
  /// the type Caches, whose `position` is the number of tokens fed.
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const;
  /// Works on the cache itself, for modules whose own caches are those of their blocks.
  Tensor step(const Tensor& x, Cache& cache, Context& context) const;

  /// Returns M, the number of tokens in a memory. Throws unless it is empty, or one [B, M, C] for
  /// each block.
  int64_t memory_length(const Memory& memory) const;

  /// How many tokens all blocks take.
  Limits limits() const;
  /// Whether outputs may depend on later tokens, as those of a forecast must not.
  bool sees_ahead() const;

  /// Lists `layer_positions`, `content_bias`, `position_bias`, `blocks.0` and so on, `final_norm`.
  void visit(Visitor& visitor) const override;

 private:
  std::unique_ptr<Block> build_block(Init init, const MixerMaker& own_mixer) const;
  void shrink_projections(Init init);
  void tie_position_biases();
  Tensor with_positions(const Tensor& x, size_t block, int64_t first) const;
  Tensor run(const Tensor& input, const Memory& memory, Caches* caches, Context& context,
             std::vector<Tensor>* inputs) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
