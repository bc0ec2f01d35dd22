#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/fuzz/mutator.h"

namespace fuzz {

using json = nlohmann::ordered_json;

/// Whether this is an object or a list.
bool is_structure(const json& value);

/// The value as one line. Bytes that are not UTF-8 are replaced.
std::string dumped(const json& value);

/// A number at which sizes, sums and products go wrong.
json extreme(Choices& choices);

/// Changes the value, or one of those inside of it: a number becomes an extreme, a key goes or
/// comes, a value changes its type, a text becomes another.
void change(json& value, Choices& choices);

}  // namespace fuzz
