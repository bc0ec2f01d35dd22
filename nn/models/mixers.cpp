#include "nn/models/mixers.h"

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::vector<KnownMixer> known_mixers() {
  std::vector<KnownMixer> list;
  auto add = [&]<class Mixer>(Mixer mixer) {
    if constexpr (requires { Mixer::usual(); }) mixer = Mixer::usual();
    list.push_back({Mixer::known, mixer});
  };
  for (const MixerConfig& config : all_configs<MixerConfig>()) std::visit(add, config);
  return list;
}

bool sees_both_ways(MixerConfig config) { return find_field<bool>(config, "causal"); }

MixerConfig suited(MixerConfig config, const SequenceLengths& lengths) {
  auto suit = [&](auto& mixer) {
    if constexpr (requires { mixer.suit(lengths); }) mixer.suit(lengths);
  };
  std::visit(suit, config);
  return config;
}

MixerConfig directed(MixerConfig config, bool causal, const char* model) {
  require(causal || sees_both_ways(config), model, ": ", type_of(config),
          " sees the past alone, expected a mixer that sees both ways");
  if (bool* direction = find_field<bool>(config, "causal")) *direction = causal;
  return config;
}

Width width_in(const MixerConfig& config, int64_t d_model, int64_t n_head) {
  bool heads = std::visit([](const auto& mixer) { return has_heads(mixer); }, config);
  return {d_model, heads ? std::optional(n_head) : std::nullopt};
}

std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Width width, Initial values) {
  auto make = [&]<class Config>(const Config& mixer) -> std::unique_ptr<Layer> {
    return std::make_unique<typename Config::Layer>(mixer, width, values);
  };
  return std::visit(make, config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
