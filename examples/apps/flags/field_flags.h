#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "core/field.h"
#include "ops/visibility.h"

namespace apps {

using shiftgrad::Field;
using shiftgrad::fields_of;

/// Whether such a field has a flag. What cannot be made from one number is for JSON alone.
template <class Value>
constexpr bool has_flag = true;
template <shiftgrad::NumberRule Rule>
constexpr bool has_flag<std::optional<Rule>> = shiftgrad::is_of_one_number<Rule>;

/// A flag for each field of some configs, of different kinds. Fields of one name share a flag. A
/// flag that is not given leaves the config's own value.
class FieldFlags {
 public:
  /// Adds flags for the saved fields of a config of this kind, without those in `left_out`. Its
  /// values are the defaults that help shows, except for sizes of 0, which are open.
  template <class Config>
  void add(const std::string& kind, Config config, const std::set<std::string>& left_out) {
    fields_of(config, [&]<class Value>(const Value& value, const Field& field, const auto&...) {
      if constexpr (has_flag<Value>) {
        if (!field.saved || left_out.contains(field.name)) return;
        auto usual = kept(value);
        std::string shown = usual ? shiftgrad::text(std::boolalpha, *usual) : "0";
        Flag& flag = flags_.try_emplace(field.name, Flag{field, decltype(usual)()}).first->second;
        if (shiftgrad::unit_of<Value>(field).find('|') != std::string::npos)
          flag.field.choices = shiftgrad::unit_of<Value>(field);
        flag.add(kind, field, shown == "0" ? "" : " (default: " + shown + ")");
      }
    });
  }

  /// Calls visit(value, field) for each flag.
  template <class Visit>
  void visit(Visit&& visit) {
    for (auto& entry : flags_) {
      const Field& field = entry.second.field;
      std::visit([&](auto& value) { visit(value, field); }, entry.second.value);
    }
  }

  /// Sets the fields of the config whose flags are given.
  template <class Config>
  void apply_to(Config& config) const {
    fields_of(config, [&]<class Value>(Value& value, const Field& field, const auto&...) {
      if constexpr (has_flag<Value>)
        if (has(field.name)) give(flags_.at(field.name).value, value);
    });
  }

  /// Sets the flags to what the config says, and leaves out those of other configs.
  template <class Config>
  void take_from(Config config) {
    visit([](auto& value, const Field&) { value.reset(); });
    fields_of(config, [&]<class Value>(const Value& value, const Field& field, const auto&...) {
      auto found = flags_.find(field.name);
      if constexpr (has_flag<Value>)
        if (found != flags_.end() && kept(value)) found->second.value = kept(value);
    });
  }

  /// Whether there is such a flag and it is given.
  bool has(const std::string& name) const;

 private:
  struct Flag {
    Field field;
    /// Enums are kept by name.
    std::variant<std::optional<bool>, std::optional<int64_t>, std::optional<double>,
                 std::optional<std::string>>
        value;
    /// What the flag does, and to which kinds.
    std::vector<std::pair<std::string, std::vector<std::string>>> uses{};

    /// Notes what the field of another kind does, and widens the range to hold its values.
    void add(const std::string& kind, const Field& other, const std::string& usual);
  };

  /// Returns a field's value as a flag keeps it. A window is one number, if it reaches as far to
  /// either side.
  template <shiftgrad::NumberRule Rule>
  static std::optional<int64_t> kept(const Rule& rule) {
    shiftgrad::Dims numbers = rule.numbers();
    return numbers.size() == 1 ? std::optional(numbers[0]) : std::nullopt;
  }
  template <class Value>
  static auto kept(const Value& value) {
    if constexpr (shiftgrad::is_optional<Value>)
      return value ? kept(*value) : decltype(kept(*value))();
    else if constexpr (shiftgrad::Named<Value>)
      return std::optional<std::string>(shiftgrad::name_of(value));
    else
      return std::optional<Value>(value);
  }

  template <class Value>
  static void give(const auto& given, Value& value) {
    if constexpr (shiftgrad::is_optional<Value>)
      give(given, value.emplace());
    else if constexpr (shiftgrad::Named<Value>)
      value = shiftgrad::value_named<Value>(*std::get<std::optional<std::string>>(given));
    else if constexpr (shiftgrad::NumberRule<Value>)
      value = *std::get<std::optional<int64_t>>(given);
    else if constexpr (std::is_arithmetic_v<Value>)
      value = *std::get<std::optional<Value>>(given);
  }

  std::map<std::string, Flag> flags_;
};

}  // namespace apps
