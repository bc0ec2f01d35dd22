#include "described.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "core/errors.h"
#include "core/io/json.h"
#include "nn/models/config.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

[[noreturn]] void refuse_unknown(const std::string& name) {
  std::vector<std::string> names = type_names<AnyConfig>();
  // A part of a name stands for it: "global" for relative_global_attention.
  std::ranges::stable_partition(names, [&](const std::string& known) {
    return !name.empty() && known.find(name) != std::string::npos;
  });
  std::string choices = names.front();
  for (size_t n = 1; n < names.size(); ++n)
    choices += (n + 1 < names.size() ? ", " : " or ") + names[n];
  fail("unknown layer \"", name, "\", expected ", choices);
}

/// Takes the rate of that name, or 0, out of an object.
double take_rate(nlohmann::json& options, const char* key, const std::string& layer) {
  if (!options.contains(key)) return 0;
  nlohmann::json given = options[key];
  double rate = given.is_number() ? given.get<double>() : -1;
  require(0 <= rate && rate < 1, layer, ": config key \"", key, "\" is ", given.dump(),
          ", expected 0 to below 1");
  options.erase(key);
  return rate;
}

}  // namespace

template <class Configs>
Configs known_config(const std::string& name, const std::string& options) {
  nlohmann::json object = parse_json("the config", options, 4);
  std::map<std::string, double> rates;
  for (const char* key : {"dropout", "attention_dropout"})
    rates[key] = take_rate(object, key, name);
  std::optional<Configs> config = config_named<Configs>(name, object.dump());
  if (!config) refuse_unknown(name);
  std::set<std::string> placed;
  each_unsaved(*config, [&](double& rate, const Field& field) {
    rate = rates[field.name];
    placed.insert(field.name);
  });
  for (const char* key : {"dropout", "attention_dropout"})
    require(placed.contains(key) || rates[key] == 0, name, ": takes no ", key);
  return *config;
}
template AnyConfig known_config(const std::string&, const std::string&);
template LayerConfig known_config(const std::string&, const std::string&);

std::string described(const std::string& name, const std::string& config) {
  auto known = known_config<AnyConfig>(name, config);
  auto object = nlohmann::ordered_json::parse(config_to_json(known, true));
  each_unsaved(known, [&](double rate, const Field& field) { object[field.name] = rate; });
  return object.dump();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
