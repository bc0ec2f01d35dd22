#pragma once

// What is wrong with the value of a flag, whether it was typed or stands in a file.

#include <optional>
#include <string>
#include <type_traits>

#include "core/field.h"
#include "near_name.h"

namespace apps {

using shiftgrad::Field;

/// Returns what is wrong with a text, such as ", expected characters or words", or an empty string.
inline std::string text_error(const std::string& text, const Field& field) {
  // Nobody can type one, and what stands before it would be taken for the whole.
  if (text.find('\0') != text.npos) return ", expected a text without a zero byte";
  std::string choices = shiftgrad::unit_of<std::string>(field);
  if (choices == "FILE" && text == "-")
    return ", expected the name of a file; standard input is not read here";
  return choices.find('|') == choices.npos ? "" : complaint(text, choices);
}

/// Returns what is wrong with a flag, or an empty string. `wrong` is what was, when the value was
/// read from `given`, which is empty for what is no text. A hint follows for a word near a name.
template <class Value>
std::string flag_error(const std::string& wrong, const Value& value, const Field& field,
                       const std::string& given) {
  if constexpr (shiftgrad::is_optional<Value>) return flag_error(wrong, *value, field, given);
  if constexpr (shiftgrad::Named<Value>)
    return wrong.empty() || given.empty() ? wrong : complaint(given, shiftgrad::choices<Value>());
  if (!wrong.empty()) return wrong;
  if constexpr (std::is_same_v<Value, std::string>) return text_error(value, field);
  return shiftgrad::value_error(value, field);
}

}  // namespace apps
