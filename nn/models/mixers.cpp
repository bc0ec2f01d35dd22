#include "nn/models/mixers.h"

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

template <class Mixer>
void take_heads(Mixer& mixer, int64_t n_head) {
  if constexpr (requires { mixer.n_head; }) mixer.n_head = n_head;
}

void take_heads(AftConfig& mixer, int64_t n_head) {
  if (mixer.form == AftForm::conv) mixer.n_head = n_head;
}

}  // namespace

MixerConfig with_sizes(MixerConfig config, const MixerSizes& sizes) {
  std::visit(
      [&](auto& mixer) {
        mixer.d_model = sizes.d_model;
        take_heads(mixer, sizes.n_head);
        if constexpr (requires { mixer.attention_dropout; })
          mixer.attention_dropout = sizes.attention_dropout;
        if constexpr (requires { mixer.dropout; }) mixer.dropout = sizes.dropout;
      },
      config);
  return config;
}

std::vector<KnownMixer> known_mixers() {
  std::vector<KnownMixer> list;
  for (MixerConfig& config : all_configs<MixerConfig>())
    std::visit(
        [&]<class Mixer>(Mixer mixer) {
          if constexpr (requires { Mixer::usual(); }) mixer = Mixer::usual();
          list.push_back({Mixer::model, Mixer::summary, mixer});
        },
        config);
  return list;
}

bool sees_both_ways(const MixerConfig& config) {
  return std::visit(
      [](const auto& mixer) {
        return requires { mixer.causal; };
      },
      config);
}

MixerConfig suited(MixerConfig config, const SequenceLengths& lengths) {
  std::visit(
      [&](auto& mixer) {
        if constexpr (requires { mixer.suit(lengths); }) mixer.suit(lengths);
      },
      config);
  return config;
}

MixerConfig directed(MixerConfig config, bool causal, const char* model) {
  require(causal || sees_both_ways(config), model, ": ", type_of(config),
          " sees the past alone, expected a mixer that sees both ways");
  std::visit(
      [&](auto& mixer) {
        if constexpr (requires { mixer.causal; }) mixer.causal = causal;
      },
      config);
  return config;
}

std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Initial values) {
  return std::visit(
      [&](const auto& mixer) -> std::unique_ptr<Layer> {
        using Mixer = typename std::decay_t<decltype(mixer)>::Layer;
        return std::make_unique<Mixer>(mixer, values);
      },
      config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
