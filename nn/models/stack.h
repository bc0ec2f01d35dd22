#pragma once

// What models of blocks have in common: an embedding, blocks on top of each other, and a norm.
//
//     h_0 = embedding(token),   h_l = block_l(h_{l-1} (+ position_l)),   norm(h_L)

#include <algorithm>
#include <memory>
#include <vector>

#include "nn/models/sequence_model.h"
#include "nn/models/token_embedding.h"
#include "nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// An embedding, blocks on top of each other, and a norm.
struct Stack {
  /// What stands before the first block.
  TokenEmbedding embedding;
  Tensor layer_positions;  // [L-1, max_len, C], undefined unless each block adds positions
  /// The blocks, from the first.
  std::vector<std::unique_ptr<Block>> blocks;
  LayerNorm norm;  // without a weight, the last block's output stays as it is

  /// Returns norm(h_L) [B, T, C] for tokens [B, T] after the memory of each block, which may be
  /// empty, or after the tokens in the caches of the blocks, to which it adds these. Token i is at
  /// position M + i. `inputs`, if given, receives the input of each block.
  Tensor operator()(const Tokens& tokens, const Memory& memory, Caches* caches, Context& context,
                    std::vector<Tensor>* inputs = nullptr) const;

  /// Adds the cache of each block before the first token.
  void make_caches(Caches& caches, int64_t limit = unlimited) const;
  [[deprecated("renamed make_caches")]] void start(Caches& caches,
                                                   int64_t limit = unlimited) const {
    make_caches(caches, limit);
  }

  /// Divides the initial weights of the projections into the residual stream by the root of their
  /// number (Radford et al. 2019, section 2.3), if they have values.
  void shrink_projections(Init values);

  /// The largest number of tokens in a sequence, counted from its start.
  int64_t max_length() const {
    return std::min(embedding.max_length(), blocks.front()->max_length());
  }
  /// The largest number of tokens that one pass may see, memory included.
  int64_t max_keys() const { return std::min(max_length(), blocks.front()->max_keys()); }
  [[deprecated("renamed max_length")]] int64_t longest() const { return max_length(); }
  [[deprecated("renamed max_keys")]] int64_t most_keys() const { return max_keys(); }

 private:
  /// Returns x [B, T, C], the first token of which is at position `first`, with the positions that
  /// a block adds to its input.
  Tensor with_positions(const Tensor& x, size_t block, int64_t first) const;
};

/// Returns the config of a part of a model: the fields that the model has, too, are the model's.
template <class Part>
Part part_of(auto model, Part part = {}) {
  auto take = [&]<class Value>(Value& value, const Field& field, const auto&...) {
    if (const Value* of_model = find_field<Value>(model, field.name)) value = *of_model;
  };
  fields_of(part, take);
  each_unsaved(part, take);
  return part;
}

/// Returns the embedding of a model's tokens, or of those of one side. Throws an error that names
/// `owner`.
TokenEmbedding token_embedding(const char* owner, const auto& model, int64_t vocab_size,
                               TokenPosition position, std::optional<int64_t> max_len,
                               Init values) {
  return {owner,
          {vocab_size, model.d_model, position, max_len, model.embedding_scale, model.dropout},
          values};
}

/// Returns the output layer for the tokens of an embedding, whose weight it shares if they are
/// tied.
Linear output_layer(const TokenEmbedding& embedding, bool tied, Init values);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
