#pragma once

#include <set>
#include <string>

#include "core/field.h"

namespace apps {

// The titles below which `train --help` lists its flags.
inline const std::string texts_title = "Texts", run_title = "The run", model_title = "The model",
                         options_title = "Options of some models", batches_title = "Batches",
                         loss_title = "The loss", update_title = "Updates";

/// Returns the names of the flags that visit(flag) calls flag(value, field) for.
template <class Visit>
std::set<std::string> flag_names(Visit visit) {
  std::set<std::string> names;
  visit([&](auto&, const shiftgrad::Field& field) { names.insert(field.name); });
  return names;
}

/// Returns the title of a flag of any training that is none of the model's. Throws when it has
/// none.
std::string training_group(const std::string& flag);

}  // namespace apps
