#pragma once

#include "nn/models/language_model.h"

namespace shiftgrad::bench {

/// L4 H4 d128 over a vocabulary of 96, the size of nanoGPT's example for CPUs.
inline LanguageModelConfig small_model(const MixerConfig& mixer) {
  LanguageModelConfig config;
  config.vocab_size = 96;
  config.d_model = 128;
  config.n_layer = 4;
  config.n_head = 4;
  config.d_inner = 512;
  config.mixer = mixer;
  config.activation = Activation::gelu;
  config.tie_embedding = true;
  return config;
}

}  // namespace shiftgrad::bench
