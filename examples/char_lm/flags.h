#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "core/errors.h"
#include "core/parallel.h"

namespace char_lm {

/// A flag whose value starts at its default; --help shows both, and the unit.
template <class Value>
CLI::Option* add_flag(CLI::App& app, const std::string& name, Value& value, const std::string& unit,
                      const std::string& description) {
  return app.add_option("--" + name, value, description)->type_name(unit)->capture_default_str();
}

/// What the flag --threads asks for, as long as it lives; null for 0, which is one thread a core.
inline std::shared_ptr<shiftgrad::ThreadLimit> limit_threads(int threads) {
  shiftgrad::require(threads >= 0, "--threads ", threads, ", expected at least 0");
  return threads == 0 ? nullptr : std::make_shared<shiftgrad::ThreadLimit>(threads);
}

}  // namespace char_lm
