#pragma once

#include "nn/models/language_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

inline LanguageModelConfig small_transformer_xl() {
  LanguageModelConfig config;
  config.vocab_size = 7;
  config.d_model = 16;
  config.n_layer = 2;
  config.n_head = 2;
  config.d_inner = 24;
  config.mixer = TransformerXLAttentionConfig{};
  return config;
}

inline LanguageModelConfig small_transformer(int64_t max_len) {
  LanguageModelConfig config = small_transformer_xl();
  config.mixer = MultiHeadAttentionConfig{};
  config.position = TokenPosition::learned;
  config.max_len = max_len;
  return config;
}

inline LanguageModel new_model(const LanguageModelConfig& config) {
  Random random{.seed = 1};
  return LanguageModel(config, random);
}

/// A model whose weights are large enough for each to matter to what it predicts.
inline LanguageModel loud_model(const LanguageModelConfig& config) {
  Random random{.seed = 3};
  LanguageModel model(config, random);
  for (const auto& [name, value, decay] : parameters(model))
    for (int64_t i = 0; i < value.count(); ++i)
      value.mutable_data()[i] += static_cast<Scalar>(0.3 * random.normal());
  return model;
}

inline std::vector<int32_t> random_text(int64_t length, int64_t vocab_size, uint64_t seed = 11) {
  Random random{seed};
  std::vector<int32_t> text;
  for (int64_t n = 0; n < length; ++n)
    text.push_back(static_cast<int32_t>(random.below(vocab_size)));
  return text;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
