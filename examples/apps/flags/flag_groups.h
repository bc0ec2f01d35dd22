#pragma once

#include <set>
#include <string>

#include "core/field.h"

namespace apps {

/// Returns the names of the flags that visit(flag) calls flag(value, field) for.
template <class Visit>
std::set<std::string> flag_names(Visit visit) {
  std::set<std::string> names;
  visit([&](auto&, const shiftgrad::Field& field) { names.insert(field.name); });
  return names;
}

/// Returns a function that calls flag(value, field) with a field of this group, unless the field
/// has one.
template <class Flag>
auto in_group(const char* group, Flag& flag) {
  return [&flag, group](auto& value, shiftgrad::Field field) {
    if (!*field.group) field.group = group;
    flag(value, field);
  };
}

}  // namespace apps
