#pragma once

// Reads JSON from outside: what a file says is checked before it is believed.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace shiftgrad {

/// Parses `text`. Throws an error that names `what` at anything that is not one JSON value in
/// UTF-8. Also throws where nlohmann's own parser would not: when an object has a key twice, and
/// when objects and lists are nested more than `max_depth` deep. A number that no double can hold
/// is refused by its key.
nlohmann::json parse_json(const char* what, std::string_view text, int max_depth = 16);

/// Returns the value as an error message shows it: JSON in ASCII on one line, cut when long.
std::string shown(const nlohmann::json& value);
/// Returns a text as an error message shows it: in quotes, escaped.
std::string shown(const std::string& text);

}  // namespace shiftgrad
