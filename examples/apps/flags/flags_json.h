#pragma once

// Conversion of flags to a checkpoint's JSON object and back. `Flags` lists its flags in `visit`.
// Texts, such as names of files, may be any bytes (json_text.h).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/io/field_json.h"
#include "core/io/json.h"
#include "examples/apps/draw/json_text.h"
#include "flag_value.h"

namespace apps {

/// Returns a JSON object of all flags that have a value.
template <class Flags>
std::string flags_to_json(Flags flags) {
  nlohmann::ordered_json object;
  flags.visit([&](auto& value, const Field& field) {
    auto& entry = object[field.name];
    shiftgrad::write_json(entry, value);
    if (entry.is_string()) entry = utf8_of(entry.template get<std::string>());
  });
  return object.dump();
}

/// Returns the flags that such an object describes. Flags that it does not name have their
/// defaults. Throws an error that names `source` for any value that would be refused if it were
/// typed.
template <class Flags>
Flags flags_from_json(const std::string& text, const std::string& source) {
  nlohmann::json object = shiftgrad::parse_json(source.c_str(), text, 2);
  shiftgrad::require(object.is_object(), source, ": the training flags are not a JSON object");
  Flags flags;
  flags.visit([&]<class Value>(Value& value, const Field& field) {
    nlohmann::json entry = object.value(field.name, nlohmann::json());
    if (!object.contains(field.name) || (shiftgrad::is_optional<Value> && entry.is_null())) return;
    std::string given = entry.is_string() ? bytes_of(entry.get<std::string>()) : "";
    if (entry.is_string()) entry = given;
    std::string wrong = shiftgrad::read_json(entry, value, field);
    wrong = flag_error(wrong, value, field, given);
    shiftgrad::require(wrong.empty(), source, ": training flag \"", field.name, "\" is ",
                       shiftgrad::shown(object[field.name]), wrong);
  });
  return flags;
}

/// Returns a JSON object of what a run's flags would have been if none had been given but those
/// that decide about the defaults of others; these have their own defaults, too.
template <class Flags>
nlohmann::ordered_json default_flags(const Flags& run, const std::vector<std::string>& deciding) {
  using Json = nlohmann::ordered_json;
  Json given = Json::parse(flags_to_json(run)), plain = Json::parse(flags_to_json(Flags())), kept;
  for (const std::string& name : deciding) kept[name] = given[name];
  auto flags = flags_from_json<Flags>(kept.dump(), "the flags of a run");
  flags.resolve_defaults();
  Json all = Json::parse(flags_to_json(flags));
  for (const std::string& name : deciding) all[name] = plain[name];
  return all;
}

}  // namespace apps
