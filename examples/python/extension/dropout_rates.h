#pragma once

#include <string>

#include "nn/models/config.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The rates of dropout in a layer, which its JSON in files does not have.
struct DropoutRates {
  double dropout = 0;
  double attention_dropout = 0;

  /// Takes both keys out of a JSON object. Throws an error that names `layer` on what is no rate.
  static DropoutRates take_from(std::string& options, const std::string& layer);

  /// Sets the rates in the config and in its mixer's. Throws if there is no place for one.
  void apply_to(LayerConfig& config) const;

  /// Returns the JSON object with those of the rates for which a config has a place.
  std::string added_to(const std::string& options, AnyConfig config) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
