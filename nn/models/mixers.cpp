#include "nn/models/mixers.h"

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::vector<KnownMixer> known_mixers() {
  std::vector<KnownMixer> list;
  auto add = [&]<class Mixer>(Mixer mixer) {
    if constexpr (requires { Mixer::defaults(); }) mixer = Mixer::defaults();
    list.push_back({Mixer::known, mixer});
  };
  for (const MixerConfig& config : all_configs<MixerConfig>()) std::visit(add, config);
  return list;
}

bool sees_both_ways(MixerConfig config) { return find_field<bool>(config, "causal"); }

void fill_defaults(MixerConfig& config, const SequenceLengths& lengths) {
  auto fill = [&](auto& mixer) {
    if constexpr (requires { mixer.fill_defaults(lengths); }) mixer.fill_defaults(lengths);
  };
  std::visit(fill, config);
}

MixerConfig with_direction(MixerConfig config, bool causal, const char* model) {
  require(causal || sees_both_ways(config), model, ": ", type_of(config),
          " sees the past alone, expected a mixer that sees both ways");
  if (bool* direction = find_field<bool>(config, "causal")) *direction = causal;
  return config;
}

Width width_for(const MixerConfig& config, int64_t d_model, int64_t n_head) {
  bool heads = std::visit([](const auto& mixer) { return has_heads(mixer); }, config);
  return {d_model, heads ? std::optional(n_head) : std::nullopt};
}

std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Width width, Init init) {
  auto make = [&]<class Config>(const Config& mixer) -> std::unique_ptr<Layer> {
    return std::make_unique<typename Config::Layer>(mixer, width, init);
  };
  return std::visit(make, config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
