#pragma once

#include <type_traits>

#include "core/field.h"
#include "core/named.h"
#include "request.h"

namespace book {

/// Returns the hyperparameters of a trainer that an object names, such as {"batch_size": 8}, and
/// the defaults of the others. Throws, naming the key, for one that the trainer does not have.
template <class Config>
Config hyperparameters(Json object) {
  shiftgrad::require(object.is_object(), "\"training\" is not an object");
  Config config;
  config.fields([&](auto& value, const shiftgrad::Field& field) {
    const char* name = field.name;
    using Value = std::decay_t<decltype(value)>;
    if (!object.contains(name)) return;
    if constexpr (std::is_enum_v<Value>)
      value = shiftgrad::value_named<Value>(value_of<std::string>(object, name));
    else
      value = value_of<Value>(object, name);
    object.erase(name);
  });
  shiftgrad::require(object.empty(), "training: unknown key ",
                     object.empty() ? "" : object.items().begin().key());
  return config;
}

}  // namespace book
