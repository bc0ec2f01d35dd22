#include "dropout_rates.h"

#include <nlohmann/json.hpp>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/io/json.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

double take_rate(nlohmann::json& options, const char* key, const std::string& layer) {
  auto found = options.find(key);
  if (found == options.end()) return 0;
  double rate = found->is_number() ? found->get<double>() : -1;
  require(0 <= rate && rate < 1, layer, ": config key \"", key, "\" is ", found->dump(),
          ", expected 0 to below 1");
  options.erase(found);
  return rate;
}

/// Sets a field in a config and in its mixer's, and returns whether there is one.
template <class Config, class Set>
bool set_everywhere(Config& config, Set set) {
  bool done = set(config);
  if constexpr (requires { config.mixer; })
    done |= std::visit([&](auto& mixer) { return set(mixer); }, config.mixer);
  return done;
}

template <class Config>
void apply(const DropoutRates& rates, Config& config) {
  bool has_dropout = set_everywhere(config, [&](auto& part) {
    if constexpr (requires { part.dropout; }) return part.dropout = rates.dropout, true;
    return false;
  });
  bool has_attention_dropout = set_everywhere(config, [&](auto& part) {
    if constexpr (requires { part.attention_dropout; })
      return part.attention_dropout = rates.attention_dropout, true;
    return false;
  });
  require(has_dropout || rates.dropout == 0, Config::type, ": takes no dropout");
  require(has_attention_dropout || rates.attention_dropout == 0, Config::type,
          ": takes no attention_dropout");
}

}  // namespace

DropoutRates DropoutRates::take_from(std::string& options, const std::string& layer) {
  nlohmann::json object = parse_json("the config", options, 4);
  DropoutRates rates{take_rate(object, "dropout", layer),
                     take_rate(object, "attention_dropout", layer)};
  options = object.dump();
  return rates;
}

void DropoutRates::apply_to(LayerConfig& config) const {
  std::visit([&](auto& each) { apply(*this, each); }, config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
