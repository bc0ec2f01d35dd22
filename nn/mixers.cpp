#include "nn/mixers.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Random& random) {
  return std::visit(
      [&](const auto& mixer) -> std::unique_ptr<Layer> {
        using Mixer = typename std::decay_t<decltype(mixer)>::Layer;
        return std::make_unique<Mixer>(mixer, random);
      },
      config);
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
