#include "nn/models/mixers.h"

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::vector<KnownMixer> known_mixers() {
  std::vector<KnownMixer> list;
  auto add = [&]<class Mixer>(Mixer mixer) {
    if constexpr (requires { Mixer::usual(); }) mixer = Mixer::usual();
    list.push_back({Mixer::model, Mixer::summary, mixer});
  };
  for (const MixerConfig& config : all_configs<MixerConfig>()) std::visit(add, config);
  return list;
}

bool sees_both_ways(const MixerConfig& config) {
  auto has_direction = [](const auto& mixer) {
    return requires { mixer.causal; };
  };
  return std::visit(has_direction, config);
}

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
  auto direct = [&](auto& mixer) {
    if constexpr (requires { mixer.causal; }) mixer.causal = causal;
  };
  std::visit(direct, config);
  return config;
}

std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Initial values) {
  auto make = [&]<class Config>(const Config& mixer) -> std::unique_ptr<Layer> {
    return std::make_unique<typename Config::Layer>(mixer, values);
  };
  return std::visit(make, config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
