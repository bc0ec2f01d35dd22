#pragma once

// JSON from outside: what a file says is checked before it is believed.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace shiftgrad {

/// The value of `text`. Throws, in the name of `what`, at anything that is not one JSON value in
/// UTF-8, and where nlohmann's own parser would not: at a key that an object has twice, and at
/// objects and lists nested more than `max_depth` deep.
nlohmann::json parse_json(const char* what, std::string_view text, int max_depth);

/// The value as an error message shows it: JSON in ASCII on one line, cut when long.
std::string shown(const nlohmann::json& value);
/// The same for a text: in quotes, escaped.
std::string shown(const std::string& text);

}  // namespace shiftgrad
