#pragma once

// Enums whose values have names. Configs, flags and errors spell a value by its name. Beside such
// an enum stands a function with the names in the order of the values:
//
//     enum class Precision { float32, bfloat16 };
//     constexpr auto names(Precision) { return std::array{"float32", "bfloat16"}; }

#include <algorithm>
#include <array>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/errors.h"

namespace shiftgrad {

/// An enum with `names` beside it.
template <class Enum>
concept Named = std::is_enum_v<Enum> && requires(Enum value) {
  names(value);
};

/// Returns the value's name.
template <Named Enum>
const char* name_of(Enum value) {
  return names(value)[static_cast<size_t>(value)];
}

/// Prints the value's name.
template <Named Enum>
std::ostream& operator<<(std::ostream& out, Enum value) {
  return out << name_of(value);
}

/// Returns the names with `comma` between them and `last` before the last one.
template <Named Enum>
std::string all_names(const char* comma = ", ", const char* last = " or ") {
  constexpr auto list = names(Enum{});
  std::string text = list[0];
  for (size_t n = 1; n < list.size(); ++n)
    text.append(n + 1 < list.size() ? comma : last).append(list[n]);
  return text;
}

/// Returns the names as the unit of a flag shows them: `relu|gelu|gelu_tanh`.
template <Named Enum>
std::string choices() {
  return all_names<Enum>("|", "|");
}

/// Whether a value has that name.
template <Named Enum>
bool is_name(std::string_view name) {
  constexpr auto list = names(Enum{});
  return std::ranges::find(list, name) != list.end();
}

/// Returns the value of that name. Throws `"elu", expected relu, gelu or gelu_tanh`.
template <Named Enum>
Enum value_named(std::string_view name) {
  constexpr auto list = names(Enum{});
  require(is_name<Enum>(name), '"', name, "\", expected ", all_names<Enum>());
  return static_cast<Enum>(std::ranges::find(list, name) - list.begin());
}

}  // namespace shiftgrad
