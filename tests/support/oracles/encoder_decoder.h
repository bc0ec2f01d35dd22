#pragma once

#include "nn/models/encoder_decoder.h"
#include "tests/support/oracles/language_model.h"

namespace shiftgrad::test {

/// What the model makes of its config for the blocks of either side.
inline Sized<TransformerBlockConfig> block_of(const EncoderDecoderConfig& config, bool encoder) {
  MixerConfig mixer = encoder ? config.encoder_mixer : config.decoder_mixer;
  if (bool* causal = find_field<bool>(mixer, "causal")) *causal = !encoder;
  return {{.mixer = mixer,
           .d_inner = config.d_inner,
           .norm_first = config.norm_first,
           .activation = config.activation},
          {config.d_model, config.n_head}};
}

/// The source as the decoder sees it, [B, S, C].
inline Values encoder_oracle(const EncoderDecoderConfig& config, const Weights& weights,
                             const Padded<Tokens>& source) {
  TokenEmbeddingConfig embedding{.d_model = config.d_model,
                                 .position = config.encoder_position,
                                 .scale = config.embedding_scale};
  Values x = embedding_oracle(embedding, weights["source.embedding.weight"],
                              weights["source.position_embedding.weight"], source.values, 0);
  for (int64_t l = 0; l < config.n_encoder_layer; ++l)
    x = oracle(block_of(config, true), weights.of("encoder." + std::to_string(l)),
               {x, {}, {}, source.mask, {}});
  return config.final_norm ? norm_oracle(x, weights.of("encoder_norm"), 1e-5) : x;
}

/// The logits [B, T, V].
inline Values oracle(const EncoderDecoderConfig& config, const Weights& weights,
                     const Padded<Tokens>& source, const Padded<Tokens>& targets) {
  std::string side = config.share_embedding ? "source." : "target.";
  const Values& table = weights[side + "embedding.weight"];
  TokenEmbeddingConfig embedding{.d_model = config.d_model,
                                 .position = config.decoder_position,
                                 .scale = config.embedding_scale};
  Values x = embedding_oracle(embedding, table, weights["target.position_embedding.weight"],
                              targets.values, 0);
  Context cross;
  cross.key_padding_mask = source.mask;
  Sized<TransformerBlockConfig> plain = block_of(config, false);
  Sized block{EncoderDecoderBlockConfig{plain, config.n_head}, plain};
  Values encoded = encoder_oracle(config, weights, source);
  for (int64_t l = 0; l < config.n_decoder_layer; ++l)
    x = oracle(block, config.n_head, weights.of("decoder." + std::to_string(l)),
               {x, {}, encoded, targets.mask, {}}, cross);
  if (config.final_norm) x = norm_oracle(x, weights.of("decoder_norm"), 1e-5);
  return linear_oracle(x, config.tie_embedding ? table : weights["output.weight"],
                       weights["output.bias"]);
}

/// The mean over all tokens but the `ignored` of -Σ_v t_v log softmax(logits)_v.
inline double cross_entropy_oracle(const Values& logits, const Tokens& targets, double smoothing,
                                   int32_t ignored) {
  int64_t T = logits.size(1), V = logits.size(2);
  double sum = 0, rows = 0;
  for (int64_t b = 0; b < logits.size(0); ++b)
    for (int64_t i = 0; i < T; ++i) {
      int32_t target = targets.values[static_cast<size_t>(b * T + i)];
      if (target == ignored) continue;
      double total = 0;
      for (int64_t v = 0; v < V; ++v) total += std::exp(logits(b, i, v));
      for (int64_t v = 0; v < V; ++v) {
        double t = smoothing / static_cast<double>(V) + (v == target ? 1 - smoothing : 0);
        sum += t * (std::log(total) - logits(b, i, v));
      }
      ++rows;
    }
  return sum / rows;
}

inline int64_t count(const EncoderDecoderConfig& config) {
  int64_t C = config.d_model, V = config.target_vocab_size;
  MixerConfig mixer = config.decoder_mixer;
  const bool* own_bias = find_field<bool>(mixer, "bias");
  bool bias = !own_bias || *own_bias;
  int64_t embeddings =
      config.source_vocab_size * C + (config.share_embedding ? 0 : V * C) +
      (config.encoder_max_len.value_or(0) + config.decoder_max_len.value_or(0)) * C;
  int64_t encoder = config.n_encoder_layer * count(block_of(config, true));
  int64_t decoder = config.n_decoder_layer *
                    (count(block_of(config, false)) + count_of_heads(C, C, bias) + 2 * C);
  return embeddings + encoder + decoder + (config.final_norm ? 4 * C : 0) + V +
         (config.tie_embedding ? 0 : V * C);
}

}  // namespace shiftgrad::test
