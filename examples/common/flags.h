#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>

#include "flag_value.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/parallel.h"

namespace char_lm {

/// Adds a flag whose value starts at its default. --help shows the flag, its default and its unit.
/// If it is given twice, the last value counts. `allowed` is a number's Range, or a text's choices
/// if the unit does not name them.
template <class Value, class... Allowed>
CLI::Option* add_flag(CLI::App& app, const std::string& name, Value& value, const std::string& unit,
                      const std::string& description, const Allowed&... allowed) {
  CLI::Option* option = app.add_option("--" + name, value, description);
  auto check = [=](const std::string& typed) -> std::string {
    std::string wrong = typed_complaint<Value>(typed, unit, allowed...);
    shiftgrad::require(wrong.empty(), "--", name, ' ', typed, wrong);
    return "";
  };
  CLI::Validator validator(check, "");
  option->check(validator.application_index(0));  // the last one given
  return option->type_name(unit)->take_last()->capture_default_str();
}

/// Throws for a flag that has no value, because nothing or another flag follows it.
void check_values_given(const CLI::App& program, std::span<char* const> arguments);

/// Returns the error for the first argument that the app does not know, with the name that may have
/// been meant.
std::string unexpected_argument(const CLI::App& app);

/// Returns a limit to the number that --threads asks for, which holds while it lives. Null for 0,
/// which means one thread for each core.
std::shared_ptr<shiftgrad::ThreadLimit> limit_threads(int threads);

}  // namespace char_lm
