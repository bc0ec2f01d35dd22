#pragma once

#include <optional>
#include <string>

#include "core/machine/precision.h"
#include "flags.h"

namespace apps {

/// What the help of --precision says.
inline constexpr const char* precision_help =
    "numbers that products multiply: floats, or floats rounded to bfloat16, which CPUs such as "
    "AMD's Zen 4 and 5 and Intel's with AMX multiply faster; sums and everything else stay float32";

/// The flag --precision of a command that uses a trained run.
struct PrecisionFlag {
  std::optional<shiftgrad::Precision> given;

  void add_to(CLI::App& app) {
    add_flag(app, given, {"precision", std::string(precision_help) + " (default: as in training)"});
  }
  /// Sets the precision of products: the one given, or else that of the training.
  void apply(shiftgrad::Precision trained) const { set_product_precision(given.value_or(trained)); }
};

}  // namespace apps
