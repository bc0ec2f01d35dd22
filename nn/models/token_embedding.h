#pragma once

// What a model makes of its tokens before the first block:
//
//     h_0 = embedding(token) (· √C) (+ position)
//
// Vaswani et al. 2017, sections 3.4 and 3.5.

#include <optional>
#include <string>

#include "shiftgrad/core/array.h"
#include "shiftgrad/nn/context.h"
#include "shiftgrad/nn/linear.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct TokenEmbeddingConfig {
  int64_t vocab_size = 0;
  int64_t d_model = 0;
  /// `none`, `sinusoid` or `learned`, which needs max_len.
  std::string position = "none";
  std::optional<int64_t> max_len{};
  /// Multiplies the embedding by √d_model.
  bool scale = false;
  /// On the result.
  double dropout = 0;
};

struct TokenEmbedding : Module {
  TokenEmbeddingConfig config;
  const char* model = "";
  Tensor weight;     // [V, C]
  Tensor positions;  // [max_len, C], learned only

  TokenEmbedding() = default;
  /// Both tables start normal. Throws, in the name of `model`, at positions that do not go with the
  /// config; the sizes are for the model to check.
  TokenEmbedding(const char* model, const TokenEmbeddingConfig& config, Random& random);

  /// tokens [B, T], of which the first stands at position `first`: [B, T, C].
  Tensor operator()(const Tokens& tokens, int64_t first, Context& context) const;

  /// How many tokens a sequence may have; `unlimited` but for learned positions.
  int64_t longest() const;

  void visit(Visitor& visitor) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
