#pragma once

#include <algorithm>
#include <iterator>
#include <string>

namespace fuzz {

/// Returns the message without its quoted parts, which are what a file holds. A quote that is cut
/// off reaches to the end.
inline std::string without_quotes(const std::string& message) {
  std::string rest;
  bool quoted = false;
  for (size_t n = 0; n < message.size(); ++n) {
    if (quoted && message[n] == '\\') {
      ++n;
    } else if (message[n] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      rest += message[n];
    }
  }
  return rest;
}

/// The words by which an error message comes from a library that the user has never heard of, or
/// null. The name of a library in quotes does not count.
inline const char* foreign_mark(const std::string& message) {
  std::string rest = without_quotes(message);
  auto is_in_rest = [&](const char* mark) { return rest.find(mark) != rest.npos; };
  constexpr const char* marks[] = {
      "std::",     "vector::", "basic_string",        "json.exception", "fit into memory",
      "bad_alloc", "::at",     "bad optional access", "stoi",           "stol",
      "stod"};
  auto found = std::ranges::find_if(marks, is_in_rest);
  return found == std::end(marks) ? nullptr : *found;
}

}  // namespace fuzz
