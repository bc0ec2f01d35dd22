#pragma once

// What a model computes from its tokens before the first block.
//
//     h_0 = embedding(token) (· √C) (+ position)
//
// Vaswani et al. 2017, sections 3.4 and 3.5.

#include <optional>
#include <string>

#include "core/array.h"
#include "core/named.h"
#include "nn/cache.h"
#include "nn/context.h"
#include "nn/fields.h"
#include "nn/layer.h"
#include "nn/linear.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Positions added to the embedding of a token.
enum class TokenPosition { none, sinusoid, learned };
constexpr auto names(TokenPosition) { return std::array{"none", "sinusoid", "learned"}; }

/// Config of a TokenEmbedding.
struct TokenEmbeddingConfig {
  /// V, the tokens that there are.
  int64_t vocab_size = 0;
  int64_t d_model = 0;
  /// Positions added to the embedding. Learned ones need max_len.
  TokenPosition position = TokenPosition::none;
  /// The number of learned positions.
  std::optional<int64_t> max_len{};
  /// Whether the embedding is multiplied by √d_model.
  bool scale = false;
  /// Dropout rate of the result.
  double dropout = 0;

  void fields(auto&& field) {
    field(vocab_size, {"vocab_size", "tokens that there are", quantity::tokens});
    field(d_model, fields::d_model());
    field(position, {"position", "positions added to the embeddings"});
    field(max_len, {"max_len", "learned positions", quantity::tokens});
    field(scale, fields::embedding_scale());
    field(dropout, fields::dropout());
  }
};

/// A row of a table for each token, with its position where there are any.
struct TokenEmbedding : Module {
  TokenEmbeddingConfig config;
  /// The model's name, for errors.
  const char* model = "";
  Tensor weight;     // [V, C]
  Tensor positions;  // [max_len, C], learned only

  TokenEmbedding() = default;
  /// Draws both tables from a normal distribution. Throws an error that names `model` when a field
  /// is out of range, or the positions do not fit the rest of the config.
  TokenEmbedding(const char* model, const TokenEmbeddingConfig& config, Init init);

  /// Returns h_0 [B, T, C] for tokens [B, T], the first of which is at position `first`.
  Tensor operator()(const Tokens& tokens, int64_t first, Context& context) const;

  /// How many tokens it takes, which has a limit if positions are learned.
  Limits limits() const { return {.length = config.max_len.value_or(unlimited)}; }

  void visit(Visitor& visitor) const override;
};

/// Returns the embedding of a model's tokens, or of those of one side. Throws an error that names
/// `owner`.
TokenEmbedding token_embedding(const char* owner, const auto& model, int64_t vocab_size,
                               TokenPosition position, std::optional<int64_t> max_len, Init init) {
  return {owner,
          {vocab_size, model.d_model, position, max_len, model.embedding_scale, model.dropout},
          init};
}

/// Returns the output layer for the tokens of an embedding, whose weight it shares if they are
/// tied.
Linear output_layer(const TokenEmbedding& embedding, bool tied, Init init);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
