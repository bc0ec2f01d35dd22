#include "nn/models/layer_config.h"

#include "nn/models/config.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

template <size_t N = 0>
std::optional<LayerConfig> read(const std::string& name, const std::string& text) {
  if constexpr (N == std::variant_size_v<LayerConfig>) {
    return std::nullopt;
  } else {
    using Config = std::variant_alternative_t<N, LayerConfig>;
    return name == Config::type ? config_from_json<Config>(text) : read<N + 1>(name, text);
  }
}

template <class Config>
int64_t width(const Config& config) {
  if constexpr (requires { config.d_model; })
    return config.d_model;
  else
    return std::visit([](const auto& mixer) { return mixer.d_model; }, config.mixer);
}

}  // namespace

std::optional<LayerConfig> layer_config_from_json(const std::string& name,
                                                  const std::string& text) {
  return read(name, text);
}

int64_t layer_width(const LayerConfig& config) {
  return std::visit([](const auto& layer) { return width(layer); }, config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
