#include "dropout_rates.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/io/json.h"

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

/// For which rates a config has a place.
struct Places {
  bool dropout, attention_dropout;
};

/// Sets the rates for which the config has a place.
template <class Config>
Places set_rates(const DropoutRates& rates, Config& config) {
  bool dropout = set_everywhere(config, [&](auto& part) {
    if constexpr (requires { part.dropout; }) return part.dropout = rates.dropout, true;
    return false;
  });
  bool attention_dropout = set_everywhere(config, [&](auto& part) {
    if constexpr (requires { part.attention_dropout; })
      return part.attention_dropout = rates.attention_dropout, true;
    return false;
  });
  return {dropout, attention_dropout};
}

template <class... Configs>
Places set_rates(const DropoutRates& rates, std::variant<Configs...>& config) {
  return std::visit([&](auto& each) { return set_rates(rates, each); }, config);
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
  Places places = set_rates(*this, config);
  const char* type = std::visit([](const auto& each) { return each.type; }, config);
  require(places.dropout || dropout == 0, type, ": takes no dropout");
  require(places.attention_dropout || attention_dropout == 0, type, ": takes no attention_dropout");
}

std::string DropoutRates::added_to(const std::string& options, AnyConfig config) const {
  auto object = nlohmann::ordered_json::parse(options);
  Places places = set_rates(*this, config);
  if (places.dropout) object["dropout"] = dropout;
  if (places.attention_dropout) object["attention_dropout"] = attention_dropout;
  return object.dump();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
