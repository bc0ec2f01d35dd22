#pragma once

// The largest sizes that a config may name.

#include <cstdint>
#include <optional>

#include "core/checked.h"

namespace shiftgrad {

/// The largest size in a layer or a model. A small multiple of the product of two sizes, such as
/// 3·H·D, then fits in 64 bits.
inline constexpr int64_t largest_size = int64_t{1} << 30;

/// Compares each integer field of a config with `largest_size`. Mixers inside it check their own.
struct SizeCheck {
  AtMost at_most;

  template <class Value, class... Rest>
  void operator()(const char*, const Value&, const Rest&...) const {}
  template <class... Rest>
  void operator()(const char* key, int64_t& size, const Rest&...) const {
    at_most(largest_size, key, size);
  }
  template <class... Rest>
  void operator()(const char* key, std::optional<int64_t>& size, const Rest&...) const {
    if (size) at_most(largest_size, key, *size);
  }
};

/// Throws when a size in the config is too large: "shaw_attention: max_distance
/// 4611686018427387904, expected at most 1073741824". Every layer and model calls this first. Each
/// checks least values itself, since they depend on other fields.
template <class Config>
void check_sizes(Config config) {
  SizeCheck check{{Config::type}};
  config.fields(check);
}

}  // namespace shiftgrad
