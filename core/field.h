#pragma once

// What a config says about its fields. A config calls, for each of them, in `fields`
//
//     field(max_len, {"max_len", "rows of the table of positions", quantity::tokens});
//
// and that line is all: JSON, checks, refusals, checkpoints, flags, --help and peers read it. Two
// more arguments are for JSON: `required` marks a field that it has to name, and a value after the
// description is the usual one, with which the field is left out.

#include <concepts>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/dims.h"
#include "core/errors.h"
#include "core/named.h"
#include "core/range.h"

namespace shiftgrad {

/// What the values of a field are.
struct Quantity {
  /// What --help calls a value, unless the type says it: BOOL, or the names of an enum. The names
  /// `a|b` are the choices of a text.
  const char* unit = "";
  /// The numbers that it may be.
  Range range = range::any;
};

namespace quantity {

/// Numbers of tokens.
constexpr Quantity tokens{"TOKENS", range::one_or_more};
constexpr Quantity tokens_or_none{"TOKENS", range::zero_or_more};
/// Sizes of a layer, at least 1.
constexpr Quantity channels{"CHANNELS", range::one_or_more}, heads{"HEADS", range::one_or_more};
/// Numbers of layers.
constexpr Quantity layers{"LAYERS", range::layers};
/// Numbers of steps of a training; an interval is at least 1.
constexpr Quantity steps{"STEPS", range::steps}, interval{"STEPS", range::interval};
/// Factors of any size.
constexpr Quantity rate{"RATE", range::rate}, weight{"WEIGHT", range::rate};
/// Factors below 1.
constexpr Quantity decay{"FACTOR", range::less_than_one};

}  // namespace quantity

/// The titles below which --help lists the flags of a training.
namespace group {

constexpr const char* texts = "Texts";                     ///< what is read
constexpr const char* run = "The run";                     ///< where it is kept, and how it goes
constexpr const char* model = "The model";                 ///< what is trained
constexpr const char* options = "Options of some models";  ///< what some of them have
constexpr const char* batches = "Batches";                 ///< what a step reads
constexpr const char* loss = "The loss";                   ///< what a step lowers
constexpr const char* updates = "Updates";                 ///< how it changes parameters

}  // namespace group

/// The description of a field.
struct Field {
  /// The name in JSON, and that of the flag.
  const char* name = "";
  /// What the field does, as --help says it.
  std::string help{};
  /// What its values are.
  Quantity of{};
  /// The title of a flag of a training; a model's flags have that of their list.
  const char* group = "";
  /// Another name by which JSON may call it.
  const char* also = "";
  /// The name of its opposite, which JSON then writes.
  const char* opposite = "";
  /// The choices of a text, if its unit does not name them.
  std::string choices{};
  /// Whether JSON has the field. What only training needs, such as dropout, is given each time.
  bool saved = true;
};

/// Marks a field that JSON has to name.
struct Required {};
/// The argument that marks a field as Required.
constexpr Required required{};

/// A rule that is printed, and kept in files, as the two numbers that it is made from, or as one if
/// it can be made from one.
template <class Rule>
concept NumberRule = std::convertible_to<decltype(std::declval<const Rule&>().numbers()), Dims>;
/// Whether a rule can be made from one number.
template <class Rule>
constexpr bool is_of_one_number = std::is_convertible_v<int64_t, Rule>;

/// Prints the numbers of a rule.
template <NumberRule Rule>
std::ostream& operator<<(std::ostream& out, const Rule& rule) {
  Dims numbers = rule.numbers();
  return out << (numbers.size() == 1 ? text(numbers[0]) : text(numbers));
}

/// Whether a value may be absent.
template <class Value>
constexpr bool is_optional = false;
template <class Value>
constexpr bool is_optional<std::optional<Value>> = true;

/// Returns what --help calls the values of a field of this type.
template <class Value>
std::string unit_of(const Field& field) {
  if constexpr (is_optional<Value>)
    return unit_of<typename Value::value_type>(field);
  else if constexpr (Named<Value>)
    return choices<Value>();
  else if constexpr (std::is_same_v<Value, bool>)
    return "BOOL";
  else
    return *field.of.unit ? field.of.unit : field.choices;
}

/// Returns what stands where a value of this type belongs: "a whole number".
template <class Value>
constexpr const char* expected_type() {
  if constexpr (std::is_same_v<Value, bool>) return "true or false";
  if constexpr (std::is_same_v<Value, std::string> || Named<Value>) return "a string";
  if constexpr (NumberRule<Value>) return "a list of two whole numbers";
  if constexpr (std::is_same_v<Value, uint64_t>)  // a seed, which has no range of its own
    return "a whole number from 0 to 18446744073709551615";
  return std::is_integral_v<Value> ? "a whole number" : "a number";
}

/// A type of which a range says what is allowed: numbers and rules.
template <class Value>
concept Ranged = std::is_arithmetic_v<Value> || requires(const Value& value, const Range& range) {
  range_error(value, range);
};

/// Returns what was expected if the field cannot have the value, such as ", expected at least 1";
/// otherwise an empty string. An option that is absent is allowed, and so is what has no range.
template <class Value>
std::string value_error(const Value& value, const Field& field) {
  if constexpr (is_optional<Value>)
    return value ? value_error(*value, field) : "";
  else if constexpr (std::is_arithmetic_v<Value>)
    return range_error(static_cast<double>(value), field.of.range);
  else if constexpr (Ranged<Value>)
    return range_error(value, field.of.range);
  else
    return "";
}

/// Checks a field of an owner's config: throws "trainer: eval_interval 0, expected at least 1".
struct InRange {
  /// The owner of the fields, as the error names it.
  const char* owner;

  /// Throws unless the field can have the value.
  template <class Value, class... Usual>
  void operator()(const Value& value, const Field& field, const Usual&...) const {
    if constexpr (is_optional<Value>) {
      if (value) (*this)(*value, field);
    } else if constexpr (Ranged<Value>) {
      std::string wrong = value_error(value, field);
      require(wrong.empty(), owner, ": ", field.name, ' ', value, wrong);
    }
  }
};

/// Checks all fields of a config.
template <class Config>
void check_fields(const char* owner, Config config) {
  config.fields(InRange{owner});
}

/// Calls field(value, description, …) for each field of a config, or of the one in a variant.
void fields_of(auto& config, auto&& field) { config.fields(field); }
template <class... Configs>
void fields_of(std::variant<Configs...>& config, auto&& field) {
  std::visit([&](auto& each) { each.fields(field); }, config);
}

/// Returns a config's field of that name and type, or null if there is none.
template <class Value>
Value* find_field(auto& config, std::string_view name) {
  Value* found = nullptr;
  fields_of(config, [&]<class Each>(Each& value, const Field& field, const auto&...) {
    if constexpr (std::is_same_v<Each, Value>)
      if (name == field.name) found = &value;
  });
  return found;
}

}  // namespace shiftgrad
