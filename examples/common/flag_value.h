#pragma once

// What the value of a flag has to be, whether it was typed or stands in a file.

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

/// The type of a flag that may have no value.
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
/// Seeds: all of them are allowed.
template <class Value>
concept Seed = std::is_same_v<Value, uint64_t>;

/// What is wrong with a value that has the right type: ", expected at least 1", or nothing. Every
/// number has a range; the choices of a text are its unit, if it names any.
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

/// What is wrong with one of another type.
template <class Value>
std::string type_complaint() {
  if constexpr (std::is_same_v<Value, bool>) return ", expected true or false";
  if constexpr (std::is_same_v<Value, std::string>) return ", expected a text";
  if constexpr (Seed<Value>) return ", expected a whole number from 0 to 18446744073709551615";
  return std::is_integral_v<Value> ? ", expected a whole number" : ", expected a number";
}

/// What is wrong with what was typed.
template <class MaybeValue, class... Allowed>
std::string typed_complaint(const std::string& typed, const std::string& unit,
                            const Allowed&... allowed) {
  using Value = typename Held<MaybeValue>::Type;
  // Read as widely as can be, so that a number too large is called just that.
  using Wide =
      std::conditional_t<Number<Value> && std::is_signed_v<Value> && std::is_integral_v<Value>,
                         int64_t, Value>;
  using CLI::detail::lexical_cast;
  Wide value{};
  // CLI11 would wrap a negative number around, and take the nearest for one that is too large.
  errno = 0;
  bool read = lexical_cast(typed, value) && (std::is_same_v<Value, std::string> || !typed.empty());
  if constexpr (Seed<Value>) read = read && !typed.starts_with('-');
  if constexpr (std::is_integral_v<Value>) read = read && errno != ERANGE;
  return read ? value_complaint(value, unit, allowed...) : type_complaint<Value>();
}

/// Sets the value to what stands in a file, or says what is wrong with that.
template <class Value, class... Allowed>
std::string read_value(const nlohmann::json& entry, Value& value, const std::string& unit,
                       const Allowed&... allowed) {
  bool fits = entry.is_string();
  if constexpr (std::is_same_v<Value, bool>) fits = entry.is_boolean();
  if constexpr (Seed<Value>) fits = entry.is_number_unsigned();
  if constexpr (Number<Value> && !Seed<Value>) {
    fits = std::is_integral_v<Value> ? entry.is_number_integer() : entry.is_number();
    // Before nlohmann wraps a large one around.
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
