#pragma once

// The value of a field as JSON, in configs and in the flags of a run.

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

#include "core/field.h"

namespace shiftgrad {

/// Writes a value: an enum by its name, a rule as its numbers, null for what is absent.
template <class Value>
void write_json(nlohmann::ordered_json& entry, const Value& value) {
  if constexpr (is_optional<Value>) {
    entry = nullptr;
    if (value) write_json(entry, *value);
  } else if constexpr (Named<Value>) {
    entry = name_of(value);
  } else if constexpr (NumberRule<Value>) {
    Dims numbers = value.numbers();
    entry = numbers[0];
    if (numbers.size() == 2) entry = {numbers[0], numbers[1]};
  } else {
    entry = value;
  }
}

/// Reads a value of the type, whether or not it is in the field's range. Returns what was expected
/// instead, such as ", expected a whole number", or an empty string.
template <class Value>
std::string read_json(const nlohmann::json& entry, Value& value, const Field& field) {
  if constexpr (is_optional<Value>) {
    return read_json(entry, value.emplace(), field);
  } else if constexpr (Named<Value>) {
    std::string name, wrong = read_json(entry, name, field);
    if (!wrong.empty()) return wrong;
    if (!is_name<Value>(name)) return ", expected " + all_names<Value>();
    value = value_named<Value>(name);
  } else {
    constexpr bool is_bool = std::is_same_v<Value, bool>;
    bool fits = std::is_floating_point_v<Value>      ? entry.is_number()
                : std::is_same_v<Value, std::string> ? entry.is_string()
                : is_bool                            ? entry.is_boolean()
                : std::is_unsigned_v<Value>          ? entry.is_number_unsigned()
                                                     : entry.is_number_integer();
    if (!fits) return text(", expected ", expected_type<Value>());
    if constexpr (std::is_integral_v<Value> && !is_bool) {
      // nlohmann's library would wrap a number around.
      bool is_held = entry.is_number_unsigned() ? std::in_range<Value>(entry.get<uint64_t>())
                                                : std::in_range<Value>(entry.get<int64_t>());
      std::string wrong = range_error(entry.get<double>(), field.of.range);
      if (!is_held) return wrong.empty() ? ", expected a smaller number" : wrong;
    }
    value = entry.get<Value>();
  }
  return "";
}
/// Reads a rule in the same way: from a list of two numbers, or from the one that makes it.
template <NumberRule Rule>
std::string read_json(const nlohmann::json& entry, Rule& value, const Field& field) {
  int64_t first = 0, second = 0;
  std::string wrong;
  if (is_of_one_number<Rule> && !entry.is_array()) {
    wrong = read_json(entry, first, field);
    if constexpr (is_of_one_number<Rule>) value = first;
    return wrong;
  }
  if (!entry.is_array() || entry.size() != 2) return text(", expected ", expected_type<Rule>());
  for (size_t n : {0, 1})
    if (wrong.empty()) wrong = read_json(entry[n], n == 0 ? first : second, field);
  value = {first, second};
  return wrong;
}

}  // namespace shiftgrad
