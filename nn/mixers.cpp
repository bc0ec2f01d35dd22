#include "nn/mixers.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

std::unique_ptr<Layer> make(const MultiHeadAttentionConfig& config, Random& random) {
  return std::make_unique<MultiHeadAttention>(config, random);
}

std::unique_ptr<Layer> make(const TransformerXLAttentionConfig& config, Random& random) {
  return std::make_unique<TransformerXLAttention>(config, random);
}

}  // namespace

std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Random& random) {
  return std::visit([&](const auto& mixer) { return make(mixer, random); }, config);
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
