#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>

#include "flag_value.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/parallel.h"

namespace char_lm {

/// A flag whose value starts at its default; --help shows both, and the unit. Given twice, the last
/// counts. `allowed` is a number's Range, or a text's choices, where the unit does not name them.
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
  option->check(validator.application_index(0));  // the last that is given
  return option->type_name(unit)->take_last()->capture_default_str();
}

/// Throws at a flag that has no value: nothing follows it, or another flag does.
void check_values_given(const CLI::App& program, std::span<char* const> arguments);

/// Says that the first of the arguments which the app could not make sense of is none, and what may
/// have been meant.
std::string unexpected_argument(const CLI::App& app);

/// What the flag --threads asks for, as long as it lives; null for 0, which is one thread a core.
std::shared_ptr<shiftgrad::ThreadLimit> limit_threads(int threads);

}  // namespace char_lm
