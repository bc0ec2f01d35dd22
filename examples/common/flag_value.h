#pragma once

// Checks of flag values, whether typed or read from a file.

#include <CLI/CLI.hpp>
#include <cerrno>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "flag_range.h"
#include "near_name.h"

namespace char_lm {

/// The value type of a flag that may have no value.
template <class Value>
struct Held {
  using Type = Value;
};
template <class Value>
struct Held<std::optional<Value>> {
  using Type = Value;
};

template <class Value>
concept Number = std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>;
/// The type of a seed. All its values are allowed.
template <class Value>
concept Seed = std::is_same_v<Value, uint64_t>;

/// Returns what is wrong with a value of the right type, such as ", expected at least 1", or an
/// empty string. Every number has a range. The choices of a text are in its unit, if the unit names
/// any.
template <Number Value>
std::string value_complaint(Value value, const std::string&, const Range& range) {
  return complaint(static_cast<double>(value), range);
}
inline std::string value_complaint(uint64_t, const std::string&) { return ""; }
inline std::string value_complaint(bool, const std::string&) { return ""; }
inline std::string value_complaint(const std::string& value, const std::string&,
                                   const std::string& choices) {
  return complaint(value, choices);
}
inline std::string value_complaint(const std::string& value, const std::string& unit) {
  return unit.find('|') == std::string::npos ? "" : complaint(value, unit);
}

/// Returns what is wrong with a value of another type.
template <class Value>
std::string type_complaint() {
  if constexpr (std::is_same_v<Value, bool>) return ", expected true or false";
  if constexpr (std::is_same_v<Value, std::string>) return ", expected a text";
  if constexpr (Seed<Value>) return ", expected a whole number from 0 to 18446744073709551615";
  return std::is_integral_v<Value> ? ", expected a whole number" : ", expected a number";
}

/// Returns what is wrong with a typed value.
template <class MaybeValue, class... Allowed>
std::string typed_complaint(const std::string& typed, const std::string& unit,
                            const Allowed&... allowed) {
  using Value = typename Held<MaybeValue>::Type;
  // Use the widest type, so that the error can say that a number is too large.
  using Wide =
      std::conditional_t<Number<Value> && std::is_signed_v<Value> && std::is_integral_v<Value>,
                         int64_t, Value>;
  using CLI::detail::lexical_cast;
  Wide value{};
  // CLI11 would wrap a negative number around, and replace a number that is too large by the
  // nearest.
  errno = 0;
  bool read = lexical_cast(typed, value) && (std::is_same_v<Value, std::string> || !typed.empty());
  if constexpr (Seed<Value>) read = read && !typed.starts_with('-');
  if constexpr (std::is_integral_v<Value>) read = read && errno != ERANGE;
  return read ? value_complaint(value, unit, allowed...) : type_complaint<Value>();
}

/// Sets the value from an entry of a file, or returns what is wrong with the entry.
template <class Value, class... Allowed>
std::string read_value(const nlohmann::json& entry, Value& value, const std::string& unit,
                       const Allowed&... allowed) {
  bool fits = entry.is_string();
  if constexpr (std::is_same_v<Value, bool>) fits = entry.is_boolean();
  if constexpr (Seed<Value>) fits = entry.is_number_unsigned();
  if constexpr (Number<Value> && !Seed<Value>) {
    fits = std::is_integral_v<Value> ? entry.is_number_integer() : entry.is_number();
    // Check the range before nlohmann wraps a large number around.
    if (fits && !complaint(entry.get<double>(), allowed...).empty())
      return complaint(entry.get<double>(), allowed...);
  }
  if (!fits) return type_complaint<Value>();
  auto read = entry.get<Value>();
  std::string wrong = value_complaint(read, unit, allowed...);
  if (wrong.empty()) value = read;
  return wrong;
}

}  // namespace char_lm
