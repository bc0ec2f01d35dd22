#include "described.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/errors.h"
#include "dropout_rates.h"
#include "examples/common/near_name.h"
#include "nn/models/config.h"
#include "nn/models/encoder_decoder.h"
#include "nn/models/language_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the description where the config is a Model's.
template <class Model>
std::string described_model(std::string options) {
  auto rates = DropoutRates::take_from(options, Model::type);
  auto object =
      nlohmann::ordered_json::parse(config_to_json(config_from_json<Model>(options), true));
  object["dropout"] = rates.dropout;
  object["attention_dropout"] = rates.attention_dropout;
  return object.dump();
}

}  // namespace

LayerConfig known_layer(const std::string& name, const std::string& config) {
  std::optional<LayerConfig> layer = layer_config_from_json(name, config);
  if (layer) return *layer;
  std::vector<std::string> names = type_names<LayerConfig>();
  for (const char* more : {LanguageModelConfig::type, EncoderDecoderConfig::type,
                           RelShiftConfig::type, ShiftRightConfig::type})
    names.push_back(more);
  // "shaw" stands for shaw_attention.
  std::ranges::stable_partition(names, [&](const std::string& known) {
    return !name.empty() && known.find(name) != std::string::npos;
  });
  std::string choices;
  for (const std::string& known : names) choices += (choices.empty() ? "" : "|") + known;
  fail("unknown layer \"", name, '"', common::complaint(name, choices));
}

std::string described(const std::string& name, const std::string& config) {
  if (name == LanguageModelConfig::type) return described_model<LanguageModelConfig>(config);
  if (name == EncoderDecoderConfig::type) return described_model<EncoderDecoderConfig>(config);
  if (name == RelShiftConfig::type)
    return config_to_json(config_from_json<RelShiftConfig>(config), true);
  if (name == ShiftRightConfig::type) return "{}";
  std::string options = config;
  auto rates = DropoutRates::take_from(options, name);
  LayerConfig layer = known_layer(name, options);
  return rates.added_to(layer_config_to_json(layer, true), layer);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
