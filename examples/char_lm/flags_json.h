#pragma once

// Flags as an object of a checkpoint, and back. `Flags` lists its own by `visit`.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "core/errors.h"
#include "nn/json.h"

namespace char_lm {

template <class Value>
void write_flag(nlohmann::ordered_json& entry, const Value& value) {
  entry = value;
}
template <class Value>
void write_flag(nlohmann::ordered_json& entry, const std::optional<Value>& value) {
  if (value) entry = *value;
}

template <class Integer>
bool holds(const nlohmann::json& entry) {
  if (!entry.is_number_integer()) return false;
  return entry.is_number_unsigned() ? std::in_range<Integer>(entry.get<uint64_t>())
                                    : std::in_range<Integer>(entry.get<int64_t>());
}

/// Throws where nlohmann would round a number or wrap it around, too.
template <class Value>
void read_flag(const nlohmann::json& entry, Value& value) {
  if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>)
    shiftgrad::require(holds<Value>(entry), "not such a number");
  entry.get_to(value);
}
template <class Value>
void read_flag(const nlohmann::json& entry, std::optional<Value>& value) {
  if (!entry.is_null()) read_flag(entry, value.emplace());
}

/// A JSON object of all flags that have a value.
template <class Flags>
std::string flags_to_json(Flags flags) {
  nlohmann::ordered_json object;
  flags.visit([&](const char* name, auto& value, auto...) { write_flag(object[name], value); });
  return object.dump();
}

/// The flags that such an object describes; those that it does not name have their defaults. Throws
/// in the name of `source`.
template <class Flags>
Flags flags_from_json(const std::string& text, const std::string& source) {
  nlohmann::json object = shiftgrad::parse_json(source.c_str(), text, 2);
  shiftgrad::require(object.is_object(), source, ": the training flags are not a JSON object");
  Flags flags;
  flags.visit([&](const char* name, auto& value, auto...) {
    auto entry = object.find(name);
    if (entry == object.end()) return;
    try {
      read_flag(*entry, value);
    } catch (const std::exception&) {
      shiftgrad::fail(source, ": training flag \"", name, "\" is ", shiftgrad::shown(*entry));
    }
  });
  return flags;
}

}  // namespace char_lm
