#pragma once

// How large anything may be that a config names.

#include <cstdint>
#include <optional>

#include "shiftgrad/core/checked.h"

namespace shiftgrad {

/// The largest size of a layer or a model. So a small multiple of two of them, such as 3·H·D or
/// 2k + 1, is no more than 64 bits hold.
inline constexpr int64_t largest_size = int64_t{1} << 30;

/// Compares each whole number among a config's fields with that; the mixers inside check their own.
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

/// Throws when a size in the config is larger: "shaw_attention: max_distance 4611686018427387904,
/// expected at most 1073741824". Every layer and model asks this first. The least values are for
/// each to say, since they depend on what else is in the config.
template <class Config>
void check_sizes(Config config) {
  SizeCheck check{{Config::type}};
  config.fields(check);
}

}  // namespace shiftgrad
