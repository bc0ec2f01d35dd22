#pragma once

// What configs say: which layers there are, and every field of theirs.

#include <string>

#include "nn/models/config.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the config that a JSON object describes, which may have rates of dropout besides; the
/// mixer of a block takes them, too. Throws as config_named does, for a name that no layer has,
/// with all the names that make_program knows, and for a rate that has no place in the config.
template <class Configs>
Configs known_config(const std::string& name, const std::string& options);

/// Returns a JSON object of all fields of the config that make_program takes, with their values or
/// defaults and null for absent options, and of its rates of dropout.
std::string described(const std::string& name, const std::string& config);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
