#pragma once

#include "nn/models/language_model.h"
#include "tests/support/oracles/blocks.h"
#include "tests/support/oracles/counts.h"

namespace shiftgrad::test {

/// What the model makes of its config for each block.
inline Sized<TransformerBlockConfig> block_of(const LanguageModelConfig& config) {
  return {{.mixer = config.mixer,
           .d_inner = config.d_inner,
           .norm_first = config.norm_first,
           .activation = config.activation},
          {config.d_model, config.n_head}};
}

inline Sized<RTransformerBlockConfig> r_block_of(const LanguageModelConfig& config) {
  return {{.window = config.window,
           .cell = config.cell,
           .d_inner = config.d_inner,
           .rnn_layers = config.rnn_layers},
          {config.d_model, config.n_head}};
}

/// The rows of `weight` for tokens [B, T] of which the first stands at `first`, scaled and with
/// positions as the config says: [B, T, C].
inline Values embedding_oracle(const TokenEmbeddingConfig& config, const Values& weight,
                               const Values& positions, const Tokens& tokens, int64_t first) {
  int64_t B = tokens.shape[0], T = tokens.shape[1], C = config.d_model;
  Values x({B, T, C});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t i = 0; i < T; ++i)
      for (int64_t c = 0; c < C; ++c) {
        double h = weight(tokens.values[static_cast<size_t>(b * T + i)], c);
        if (config.scale) h *= std::sqrt(static_cast<double>(C));
        if (config.position == TokenPosition::learned) h += positions(first + i, c);
        if (config.position == TokenPosition::sinusoid)
          h += sinusoid_row(first + i, C)[static_cast<size_t>(c)];
        x(b, i, c) = h;
      }
  return x;
}

/// Adds to x [B, T, C] the rows of table number `layer` from `first` on.
inline void add_positions(Values& x, const Values& tables, int64_t layer, int64_t first) {
  if (!x.defined()) return;
  for (int64_t b = 0; b < x.size(0); ++b)
    for (int64_t i = 0; i < x.size(1); ++i)
      for (int64_t c = 0; c < x.size(2); ++c) x(b, i, c) += tables(layer, first + i, c);
}

/// What the output layer reads, [B, T, C], behind the blocks' memories, one for each or none, and
/// each block's input.
inline Values features_oracle(const LanguageModelConfig& config, const Weights& weights,
                              const Tokens& tokens, const std::vector<Values>& memories,
                              std::vector<Values>* block_inputs = nullptr) {
  int64_t M = memories.empty() ? 0 : memories[0].size(1);
  TokenEmbeddingConfig embedding{
      .d_model = config.d_model, .position = config.position, .scale = config.embedding_scale};
  Values x = embedding_oracle(embedding, weights["embedding.weight"],
                              weights["position_embedding.weight"], tokens, M);
  for (int64_t l = 0; l < config.n_layer; ++l) {
    if (block_inputs) block_inputs->push_back(x);
    Weights block = weights.of("blocks." + std::to_string(l));
    Values memory = memories.empty() ? Values() : memories[static_cast<size_t>(l)];
    if (config.layer_positions && l > 0) {
      add_positions(x, weights["layer_positions"], l - 1, M);
      add_positions(memory, weights["layer_positions"], l - 1, 0);
    }
    if (config.tie_position_biases)
      for (std::string name : {"content_bias", "position_bias"})
        block.all["mixer." + name] = weights[name];
    Input input{x, memory, {}, {}, {}};
    x = config.block == BlockType::transformer_block ? oracle(block_of(config), block, input)
                                                     : oracle(r_block_of(config), block, input);
  }
  return config.final_norm ? norm_oracle(x, weights.of("final_norm"), 1e-5) : x;
}

inline Values logits_oracle(const LanguageModelConfig& config, const Weights& weights,
                            const Values& features) {
  const Values& output = weights[config.tie_embedding ? "embedding.weight" : "output.weight"];
  return linear_oracle(features, output, weights["output.bias"]);
}

/// The logits [B, T, V], and each block's input.
inline Values oracle(const LanguageModelConfig& config, const Weights& weights,
                     const Tokens& tokens, const std::vector<Values>& memories,
                     std::vector<Values>* block_inputs = nullptr) {
  return logits_oracle(config, weights,
                       features_oracle(config, weights, tokens, memories, block_inputs));
}

/// The mean over all tokens of log Σ_v e^logit_v - logit_target.
inline double cross_entropy_oracle(const Values& logits, const Tokens& targets) {
  int64_t T = logits.size(1);
  double sum = 0;
  for (int64_t b = 0; b < logits.size(0); ++b)
    for (int64_t i = 0; i < T; ++i) {
      double total = 0;
      for (int64_t v = 0; v < logits.size(2); ++v) total += std::exp(logits(b, i, v));
      sum += std::log(total) - logits(b, i, targets.values[static_cast<size_t>(b * T + i)]);
    }
  return sum / static_cast<double>(logits.size(0) * T);
}

inline int64_t count(const LanguageModelConfig& config) {
  int64_t V = config.vocab_size, C = config.d_model, L = config.n_layer;
  int64_t block = config.block == BlockType::transformer_block ? count(block_of(config))
                                                               : count(r_block_of(config));
  int64_t total = V * C + config.max_len.value_or(0) * C + L * block + V;
  if (config.final_norm) total += 2 * C;
  if (!config.tie_embedding) total += V * C;
  if (config.layer_positions) total += (L - 1) * config.max_len.value() * C;
  if (config.tie_position_biases) {
    auto& mixer = std::get<TransformerXLAttentionConfig>(config.mixer);
    int64_t HD = config.n_head * mixer.d_head.value_or(C / config.n_head);
    total -= (L - 1) * 2 * HD;
  }
  return total;
}

}  // namespace shiftgrad::test
