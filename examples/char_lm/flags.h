#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <type_traits>

#include "core/errors.h"
#include "core/parallel.h"

namespace char_lm {

/// A flag whose value starts at its default; --help shows both, and the unit. Given twice, the last
/// counts.
template <class Value>
CLI::Option* add_flag(CLI::App& app, const std::string& name, Value& value, const std::string& unit,
                      const std::string& description) {
  CLI::Option* option = app.add_option("--" + name, value, description);
  // CLI11 would wrap a negative number around.
  if constexpr (std::is_unsigned_v<Value>)
    option->check([](const std::string& number) -> std::string {
      return number.starts_with('-') ? number + ", expected at least 0" : "";
    });
  return option->type_name(unit)->take_last()->capture_default_str();
}

/// Says that the first of the arguments which the app could not make sense of is none, and what may
/// have been meant.
std::string unexpected_argument(const CLI::App& app);

/// What the flag --threads asks for, as long as it lives; null for 0, which is one thread a core.
std::shared_ptr<shiftgrad::ThreadLimit> limit_threads(int threads);

}  // namespace char_lm
