#pragma once

// Checks of flag values, whether typed or read from a file.

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/field.h"
#include "near_name.h"

namespace apps {

using shiftgrad::Field;
using shiftgrad::range_error;

template <class Value>
concept Number = std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>;
/// The type of a seed. All its values are allowed.
template <class Value>
concept Seed = std::is_same_v<Value, uint64_t>;

/// Returns what is wrong with a value of the right type, such as ", expected at least 1", or an
/// empty string.
template <class Value>
std::string value_complaint(const Value& value, const Field& field) {
  if constexpr (Number<Value> && !Seed<Value>)
    return range_error(static_cast<double>(value), field.of.range);
  if constexpr (std::is_same_v<Value, std::string>) {
    // Nobody can type one, and what stands before it would be taken for the whole.
    if (value.find('\0') != value.npos) return ", expected a text without a zero byte";
    std::string choices = field.choices.empty() ? field.of.unit : field.choices;
    if (choices == "FILE" && value == "-")
      return ", expected the name of a file; standard input is not read here";
    return choices.find('|') == std::string::npos ? "" : complaint(value, choices);
  }
  return "";
}

/// Returns what is wrong with a value of another type.
template <class Value>
std::string type_complaint() {
  return std::string(", expected ") + shiftgrad::expected_type<Value>();
}

}  // namespace apps
