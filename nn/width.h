#pragma once

// How wide a layer is. That is a matter of what the layer stands in: the config of a mixer or of a
// block keeps only what is its own.

#include <optional>
#include <type_traits>

#include "nn/fields.h"
#include "nn/parameters.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The channels of the tokens that a layer takes, and its heads where it has any.
struct Width {
  /// C, the channels of a token.
  int64_t d_model = 0;
  /// H, the heads.
  std::optional<int64_t> n_head{};
};

/// Whether such a mixer has heads. Mixers without them overload it.
constexpr bool has_heads(const auto&) { return true; }

/// Calls field(value, description) for what JSON says of the width beside the fields of such a
/// config. Layers that take less, or that take it from their mixer, overload it.
void width_fields(const auto&, Width& width, auto&& field) {
  field(width.d_model, fields::d_model());
  int64_t heads = width.n_head.value_or(0);
  field(heads, fields::n_head());
  width.n_head = heads;
}

/// A config and the width of its layer: what the JSON of a layer says that stands alone.
///
///     Sized{MultiHeadAttentionConfig{.bias = false}, {.d_model = 8, .n_head = 2}}
template <class Config>
struct Sized : Config, Width {
  void fields(auto&& field) {
    width_fields(static_cast<const Config&>(*this), *this, field);
    Config::fields(field);
  }
};
/// Makes a Sized of these two.
template <class Config>
Sized(Config, Width) -> Sized<Config>;

/// Returns the layer of a config with its width, or the model of a config.
template <class Config>
typename Config::Layer make_layer(const Config& config, Init init) {
  if constexpr (std::is_base_of_v<Width, Config>)
    return typename Config::Layer(config, config, init);
  else
    return typename Config::Layer(config, init);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
