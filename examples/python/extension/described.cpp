#include "described.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/errors.h"
#include "dropout_rates.h"
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

}  // namespace

LayerConfig known_layer(const std::string& name, const std::string& config) {
  std::optional<LayerConfig> layer = config_named<LayerConfig>(name, config);
  if (!layer) refuse_unknown(name);
  return *layer;
}

std::string described(const std::string& name, const std::string& config) {
  std::string options = config;
  auto rates = DropoutRates::take_from(options, name);
  std::optional<AnyConfig> known = config_named<AnyConfig>(name, options);
  if (!known) refuse_unknown(name);
  return rates.added_to(config_to_json(*known, true), *known);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
