#pragma once

#include <string>

#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Configs of the bare shifts in ops/shift.h, which are not modules.
struct RelShiftConfig {
  static constexpr const char* type = "rel_shift";
  bool zero_triu = false;

  template <class Fields>
  void fields(Fields& field) {
    field("zero_triu", zero_triu);
  }
};

struct ShiftRightConfig {
  static constexpr const char* type = "shift_right";

  template <class Fields>
  void fields(Fields&) {}
};

/// Returns the config that a JSON object describes. The keys are the names in the config's
/// `fields`. Throws, naming layer and key, on an unknown key, a null or a value of the wrong type.
/// It is instantiated for every config in nn/.
template <class Config>
Config config_from_json(const std::string& text);

/// Returns the JSON object that config_from_json reads back. With `all`, it is for people: it has
/// every field, null for an absent option.
template <class Config>
std::string config_to_json(const Config& config, bool all = false);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
