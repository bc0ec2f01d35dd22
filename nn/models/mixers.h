#pragma once

// The list of all mixers that `{"type": …}` can name.

#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "nn/aft.h"
#include "nn/local_rnn.h"
#include "nn/multi_head_attention.h"
#include "nn/relative_global_attention.h"
#include "nn/relative_multi_head_attention.h"
#include "nn/shaw_attention.h"
#include "nn/transformer_xl_attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The config of any mixer.
using MixerConfig = std::variant<MultiHeadAttentionConfig, RelativeMultiHeadAttentionConfig,
                                 RelativeGlobalAttentionConfig, ShawAttentionConfig,
                                 TransformerXLAttentionConfig, AftConfig, LocalRnnConfig>;

/// Returns the name of the config's type.
const char* type_of(const auto& config) {
  return std::visit([](const auto& each) { return each.type; }, config);
}

/// Calls visit(value, field) for each rate, of a config and of its mixers, that files leave out.
void each_unsaved(auto& config, auto&& visit) {
  fields_of(config, [&]<class Value>(Value& value, const Field& field, const auto&...) {
    if constexpr (std::is_same_v<Value, MixerConfig>)
      each_unsaved(value, visit);
    else if constexpr (std::is_same_v<Value, double>)
      if (!field.saved) visit(value, field);
  });
}

/// Returns the config of a part of a model: the fields that the model has, too, are the model's.
template <class Part>
Part shared_fields(auto model, Part part = {}) {
  auto take = [&]<class Value>(Value& value, const Field& field, const auto&...) {
    if (const Value* of_model = find_field<Value>(model, field.name)) value = *of_model;
  };
  fields_of(part, take);
  each_unsaved(part, take);
  return part;
}

/// Returns the default config of each type in a variant such as LayerConfig.
template <class Configs>
std::vector<Configs> all_configs() {
  return []<class... Config>(std::type_identity<std::variant<Config...>>) {
    return std::vector<Configs>{Config()...};
  }(std::type_identity<Configs>());
}

/// Returns the names of the configs in a variant such as LayerConfig.
template <class Configs>
std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const Configs& config : all_configs<Configs>()) names.push_back(type_of(config));
  return names;
}

/// A mixer, with the name of the model that made it known.
struct KnownMixer : KnownModel {
  /// What such a model has unless told otherwise.
  MixerConfig config;
};

/// Returns all mixers, in the order of MixerConfig.
std::vector<KnownMixer> known_mixers();

/// Whether the mixer has a two-way form.
bool sees_both_ways(MixerConfig config);

/// Sets the sizes that such sequences need, where the config leaves them open.
void fill_defaults(MixerConfig& config, const SequenceLengths& lengths);

/// Returns the config of the causal form of the mixer, or of its two-way form. Throws an error
/// that names `model` if the mixer has no such form.
MixerConfig with_direction(MixerConfig config, bool causal, const char* model);

/// Returns the width that a mixer has in a model: without heads where it has none.
Width width_for(const MixerConfig& config, int64_t d_model, int64_t n_head);

/// Returns the mixer of that config and width. Throws when it is invalid.
std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Width width, Init init);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
