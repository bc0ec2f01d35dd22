#pragma once

#include <string>
#include <utility>

#include "core/field.h"

namespace common {

/// The description of a flag: that of a field, with texts that a program makes.
struct Field : shiftgrad::Field {
  /// What the flag does, as --help says it.
  std::string help;
  /// The choices `a|b` of a text, if its unit does not name them.
  std::string choices{};

  Field(const shiftgrad::Field& field) : shiftgrad::Field(field), help(field.help) {}
  Field(const char* name, std::string help, shiftgrad::Quantity of = {}, std::string choices = "")
      : shiftgrad::Field{.name = name, .of = of},
        help(std::move(help)),
        choices(std::move(choices)) {}
};

}  // namespace common
