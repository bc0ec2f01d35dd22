#pragma once

#include <string>

#include "core/io/field_json.h"
#include "core/io/json.h"
#include "request.h"

namespace book {

/// Returns the hyperparameters of a trainer that an object names, such as {"batch_size": 8}, and
/// the defaults of the others. Throws, naming the key, for one that the trainer does not have.
template <class Config>
Config hyperparameters(Json object) {
  shiftgrad::require(object.is_object(), "\"training\" is not an object");
  Config config;
  config.fields([&](auto& value, const shiftgrad::Field& field) {
    auto entry = object.find(field.name);
    if (entry == object.end()) return;
    std::string wrong = shiftgrad::read_json(*entry, value, field);
    shiftgrad::require(wrong.empty(), "\"", field.name, "\" is ", shiftgrad::shown(*entry), wrong);
    object.erase(entry);
  });
  shiftgrad::require(object.empty(), "training: unknown key ",
                     object.empty() ? "" : object.items().begin().key());
  return config;
}

}  // namespace book
