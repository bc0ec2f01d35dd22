#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "nn/models/mixers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns every mixer as models usually have it, but small: windows and clipping distances are of
/// at most 3 tokens, tables as long as sequences of `length` tokens need, and AFT's of rank 2.
inline std::vector<MixerConfig> small_mixers(int64_t length) {
  auto limit = []<class Value>(Value& value, const Field& field, const auto&...) {
    if (std::string_view(field.of.unit) != quantity::tokens.unit) return;
    if constexpr (std::is_same_v<Value, std::optional<int64_t>>) {
      if (value) value = std::min<int64_t>(*value, 3);
    } else if constexpr (std::is_same_v<Value, int64_t>) {
      value = std::min<int64_t>(value, 3);
    }
  };
  std::vector<MixerConfig> mixers;
  for (KnownMixer& known : known_mixers()) {
    fields_of(known.config, limit);
    if (auto* aft = std::get_if<AftConfig>(&known.config)) aft->factor_rank = 2;
    fill_defaults(known.config, {length, length});
    mixers.push_back(known.config);
  }
  return mixers;
}

/// Calls body(config) for each of them, with its width.
template <class Body>
void for_small_mixers(int64_t length, int64_t d_model, int64_t n_head, Body body) {
  for (const MixerConfig& mixer : small_mixers(length)) {
    CAPTURE(std::string(type_of(mixer)));
    const Width width = width_for(mixer, d_model, n_head);
    std::visit([&](const auto& config) { body(Sized{config, width}); }, mixer);
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
