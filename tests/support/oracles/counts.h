#pragma once

// The number of parameters in closed form.

#include "nn/models/encoder_decoder_block.h"
#include "nn/models/language_model.h"
#include "tests/support/oracles/blocks.h"

namespace shiftgrad::test {

inline int64_t count(const MixerConfig& config, Width width) {
  return std::visit([&](const auto& mixer) { return count(Sized{mixer, width}); }, config);
}

inline int64_t count_of_feed_forward(int64_t C, int64_t d_inner) {
  return 2 * C * d_inner + d_inner + C;
}

inline int64_t count(const Sized<TransformerBlockConfig>& c) {
  int64_t C = c.d_model;
  return count(c.mixer, c) + 2 * 2 * C + count_of_feed_forward(C, c.d_inner);
}

inline int64_t count(const Sized<RTransformerBlockConfig>& c) {
  int64_t C = c.d_model;
  int64_t local = count(Sized{LocalRnnConfig{.window = c.window, .cell = c.cell}, {C}}) + 2 * C;
  return c.rnn_layers * local + count_of_heads(C, C, true) + 2 * 2 * C +
         count_of_feed_forward(C, c.d_inner);
}

}  // namespace shiftgrad::test
