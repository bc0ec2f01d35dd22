#pragma once

#include "nn/models/encoder_decoder.h"

namespace shiftgrad::test {

inline EncoderDecoder small_translator() {
  EncoderDecoderConfig config{.source_vocab_size = 6,
                              .target_vocab_size = 6,
                              .d_model = 4,
                              .n_encoder_layer = 1,
                              .n_decoder_layer = 1,
                              .n_head = 2,
                              .d_inner = 4};
  Random random{.seed = 1};
  return EncoderDecoder(config, random);
}

}  // namespace shiftgrad::test
