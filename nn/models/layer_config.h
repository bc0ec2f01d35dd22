#pragma once

// The list of all layers that a file or a program may ask for by name: the mixers and the blocks.

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "nn/models/encoder_decoder_block.h"
#include "nn/models/mixers.h"
#include "nn/models/r_transformer_block.h"
#include "nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

template <class Mixers, class... Blocks>
struct WithBlocks;
template <class... Mixers, class... Blocks>
struct WithBlocks<std::variant<Mixers...>, Blocks...> {
  using Config = std::variant<Mixers..., Blocks...>;
};

/// The config of a mixer or of a block.
using LayerConfig = WithBlocks<MixerConfig, TransformerBlockConfig, RTransformerBlockConfig,
                               EncoderDecoderBlockConfig>::Config;

/// Returns the names of the configs in a variant such as LayerConfig.
template <class Configs>
std::vector<std::string> type_names() {
  return []<class... Config>(std::type_identity<std::variant<Config...>>) {
    return std::vector<std::string>{Config::type...};
  }(std::type_identity<Configs>());
}

/// Returns the config of the layer called `name`, from a JSON object, or nothing if no layer has
/// this name. Throws as config_from_json does.
std::optional<LayerConfig> layer_config_from_json(const std::string& name, const std::string& text);

/// Returns what config_to_json returns for the config of this layer.
std::string layer_config_to_json(const LayerConfig& config, bool all = false);

/// Returns the size C of the tokens [B, T, C] that the layer takes.
int64_t layer_width(const LayerConfig& config);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
