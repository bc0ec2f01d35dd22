#pragma once

// What models of blocks have in common: an embedding, blocks on top of each other, and a norm.
//
//     h_0 = embedding(token),   h_l = block_l(h_{l-1} (+ position_l)),   norm(h_L)

#include <functional>
#include <memory>
#include <vector>

#include "nn/models/sequence_model.h"
#include "nn/models/token_embedding.h"
#include "nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct Stack {
  TokenEmbedding embedding;
  Tensor layer_positions;  // [L-1, max_len, C], undefined unless each block adds positions
  std::vector<std::unique_ptr<Block>> blocks;
  LayerNorm norm;  // without a weight, the last block's output stays as it is

  /// Returns norm(h_L) [B, T, C] for tokens [B, T] after the memory of each block, which may be
  /// empty. Token i is at position M + i. `inputs`, if given, receives the input of each block.
  Tensor operator()(const Tokens& tokens, const Memory& memory, Context& context,
                    std::vector<Tensor>* inputs = nullptr) const;
  /// Returns the same after the tokens in the states of the blocks, and adds the tokens to them.
  Tensor operator()(const Tokens& tokens, States& states, Context& context) const;

  /// Adds the state of each block before the first token.
  void start(States& states, int64_t limit = unlimited) const;

  /// Divides the initial weights of the projections into the residual stream by the root of their
  /// number (Radford et al. 2019, section 2.3), if they have values.
  void shrink_projections(Initial values);

  int64_t longest() const;
  int64_t most_keys() const;

 private:
  Tensor run(const Tokens& tokens, int64_t first, const std::function<Past(size_t)>& past,
             Context& context, std::vector<Tensor>* inputs) const;
  /// Returns x [B, T, C], the first token of which is at position `first`, with the positions that
  /// a block adds to its input.
  Tensor with_positions(const Tensor& x, size_t block, int64_t first) const;
};

/// Returns the mixer's config with the sizes and rates of dropout that it takes from its model.
template <class Model>
MixerConfig mixer_config(const Model& model, const MixerConfig& mixer) {
  return with_sizes(mixer, {.d_model = model.d_model,
                            .n_head = model.n_head,
                            .dropout = model.dropout,
                            .attention_dropout = model.attention_dropout});
}

/// Returns the config of a model's blocks around this mixer.
template <class Model>
TransformerBlockConfig block_config(const Model& model, const MixerConfig& mixer) {
  return {.mixer = mixer,
          .d_inner = model.d_inner,
          .norm_first = model.norm_first,
          .activation = model.activation,
          .dropout = model.dropout};
}

/// Returns a model's output layer, whose weight is the embedding's if that is given.
Linear output_layer(int64_t d_model, int64_t vocab_size, const Tensor& embedding, Initial values);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
