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

/// Configs of the bare shifts in ops/shift.h, which are not modules.
struct RelShiftConfig {
  static constexpr const char* type = "rel_shift";
  bool zero_triu = false;

  void fields(auto&& field) {
    field(zero_triu, {"zero_triu", "set what lies above the diagonal to 0"});
  }
};

struct ShiftRightConfig {
  static constexpr const char* type = "shift_right";

  void fields(auto&&) {}
};

template <class Configs, class... More>
struct WithMore;
template <class... Configs, class... More>
struct WithMore<std::variant<Configs...>, More...> {
  using Type = std::variant<Configs..., More...>;
};

template <class Configs>
struct AllSized;
template <class... Configs>
struct AllSized<std::variant<Configs...>> {
  using Type = std::variant<Sized<Configs>...>;
};

/// The config of a mixer that stands alone, with its width.
using SizedMixerConfig = AllSized<MixerConfig>::Type;

/// The config of a mixer or of a block, with its width.
using LayerConfig =
    WithMore<SizedMixerConfig, Sized<TransformerBlockConfig>, Sized<RTransformerBlockConfig>,
             Sized<EncoderDecoderBlockConfig>>::Type;

/// The config of anything that a file or a program may ask for by name.
using AnyConfig = WithMore<LayerConfig, LanguageModelConfig, EncoderDecoderConfig, RelShiftConfig,
                           ShiftRightConfig>::Type;

/// Returns the config of the type called `name` that a JSON object describes, or nothing if no type
/// in `Configs` has this name. Throws, naming layer and key, on an unknown key, a null or a value
/// of the wrong type. `Configs` is AnyConfig, LayerConfig or SizedMixerConfig.
template <class Configs>
std::optional<Configs> config_named(const std::string& name, const std::string& text);

template <class Config, class Configs>
constexpr bool is_one_of = false;
template <class Config, class... Configs>
constexpr bool is_one_of<Config, std::variant<Configs...>> = (std::is_same_v<Config,
                                                              Configs> || ...);

/// Returns the config of this type that a JSON object describes, that of a layer with its width.
/// Throws as config_named does.
template <class Config>
auto config_from_json(const std::string& text) {
  constexpr bool of_layer = is_one_of<Sized<Config>, LayerConfig>;
  using Read = std::conditional_t<of_layer, Sized<Config>, Config>;
  return std::get<Read>(*config_named<AnyConfig>(Config::type, text));
}

/// Returns the JSON object that config_from_json reads back. With `all`, it is for people: it has
/// every field, null for an absent option.
std::string config_to_json(const AnyConfig& config, bool all = false);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
