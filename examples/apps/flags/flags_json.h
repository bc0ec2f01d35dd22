#pragma once

// Conversion of flags to a checkpoint's JSON object and back. `Flags` lists its flags in `visit`.
// Texts, such as names of files, may be any bytes (json_text.h).

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/named.h"
#include "examples/apps/draw/json_text.h"
#include "flag_value.h"

namespace apps {

/// Sets the value from its entry in a file, or returns what is wrong with the entry.
template <class Value>
std::string read_value(const nlohmann::json& entry, Value& value, const Field& field) {
  bool fits = entry.is_string();
  if constexpr (std::is_same_v<Value, bool>) fits = entry.is_boolean();
  if constexpr (Seed<Value>) fits = entry.is_number_unsigned();
  if constexpr (Number<Value> && !Seed<Value>) {
    fits = std::is_integral_v<Value> ? entry.is_number_integer() : entry.is_number();
    // This check comes first, because nlohmann would wrap a large number around.
    std::string wrong = fits ? value_complaint(entry.get<double>(), field) : "";
    if (!wrong.empty()) return wrong;
  }
  if (!fits) return type_complaint<Value>();
  auto read = entry.get<Value>();
  if constexpr (std::is_same_v<Value, std::string>) read = bytes_of(read);
  std::string wrong = value_complaint(read, field);
  if (wrong.empty()) value = read;
  return wrong;
}

template <shiftgrad::Named Enum>
std::string read_value(const nlohmann::json& entry, Enum& value, const Field&) {
  std::string name, wrong = read_value(entry, name, {.choices = shiftgrad::choices<Enum>()});
  if (wrong.empty()) value = shiftgrad::value_named<Enum>(name);
  return wrong;
}

template <class Value>
void write_flag(nlohmann::ordered_json& entry, const Value& value) {
  if constexpr (shiftgrad::Named<Value>)
    entry = shiftgrad::name_of(value);
  else if constexpr (std::is_same_v<Value, std::string>)
    entry = utf8_of(value);
  else
    entry = value;
}
template <class Value>
void write_flag(nlohmann::ordered_json& entry, const std::optional<Value>& value) {
  if (value) write_flag(entry, *value);
}

template <class Value>
std::string read_flag(const nlohmann::json& entry, Value& value, const Field& field) {
  return read_value(entry, value, field);
}
template <class Value>
std::string read_flag(const nlohmann::json& entry, std::optional<Value>& value,
                      const Field& field) {
  return entry.is_null() ? "" : read_value(entry, value.emplace(), field);
}

/// Returns a JSON object of all flags that have a value.
template <class Flags>
std::string flags_to_json(Flags flags) {
  nlohmann::ordered_json object;
  flags.visit([&](auto& value, const Field& field) { write_flag(object[field.name], value); });
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
  flags.visit([&](auto& value, const Field& field) {
    auto entry = object.find(field.name);
    if (entry == object.end()) return;
    std::string wrong = read_flag(*entry, value, field);
    shiftgrad::require(wrong.empty(), source, ": training flag \"", field.name, "\" is ",
                       shiftgrad::shown(*entry), wrong);
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
