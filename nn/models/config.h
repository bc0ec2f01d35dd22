#pragma once

// Configs as JSON: the keys are the names in a config's `fields`.

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "nn/models/encoder_decoder.h"
#include "nn/models/language_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of rel_shift: the bare shifts of ops/shift.h have configs, but are not modules.
struct RelShiftConfig {
  using Layer = void;
  static constexpr const char* type = "rel_shift";
  bool zero_triu = false;

  void fields(auto&& field) {
    field(zero_triu, {"zero_triu", "set what lies above the diagonal to 0"});
  }
};

/// Config of shift_right, which has no fields.
struct ShiftRightConfig {
  using Layer = void;
  static constexpr const char* type = "shift_right";

  /// Calls nothing: there is no field.
  void fields(auto&&) {}
};

/// Returns the same configs, each with a width. It is declared for its type alone.
template <class... Configs>
std::variant<Sized<Configs>...> all_sized(const std::variant<Configs...>&);
/// Returns the same configs and more. It is declared for its type alone.
template <class... Configs, class... More>
std::variant<Configs..., More...> with_more(const std::variant<Configs...>&, const More&...);

/// The config of a mixer that stands alone, with its width.
using SizedMixerConfig = decltype(all_sized(MixerConfig()));

/// The config of a mixer or of a block, with its width.
using LayerConfig =
    decltype(with_more(SizedMixerConfig(), Sized<TransformerBlockConfig>(),
                       Sized<RTransformerBlockConfig>(), Sized<EncoderDecoderBlockConfig>()));

/// The config of anything that a file or a program may ask for by name.
using AnyConfig = decltype(with_more(LayerConfig(), LanguageModelConfig(), EncoderDecoderConfig(),
                                     RelShiftConfig(), ShiftRightConfig()));

/// Returns the config of the type called `name` that a JSON object describes, or nothing if no type
/// in `Configs` has this name. Throws, naming layer and key, on an unknown key, a null or a value
/// of the wrong type. `Configs` is AnyConfig, LayerConfig or SizedMixerConfig.
template <class Configs>
std::optional<Configs> config_named(const std::string& name, const std::string& text);

/// Returns the config of this type that a JSON object describes, that of a layer with its width.
/// Throws as config_named does.
template <class Config>
auto config_from_json(const std::string& text) {
  constexpr bool of_layer = std::is_base_of_v<Layer, typename Config::Layer>;
  using Read = std::conditional_t<of_layer, Sized<Config>, Config>;
  return std::get<Read>(*config_named<AnyConfig>(Config::type, text));
}

/// Returns the JSON object that config_from_json reads back. With `all`, it is for people: it has
/// every field, null for an absent option.
std::string config_to_json(const AnyConfig& config, bool all = false);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
