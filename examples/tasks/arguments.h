#pragma once

#include <shiftgrad/shiftgrad.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

/// What stands behind a program's name.
struct Arguments {
  std::vector<std::string> words;

  Arguments(int count, char** arguments) : words(arguments + 1, arguments + count) {}

  /// Returns word n. Throws when there is none.
  const std::string& text(size_t n, const char* name) const {
    shiftgrad::require(n < words.size(), "expected ", name, " as argument ", n + 1);
    return words[n];
  }
  /// Returns the value that word n names.
  template <shiftgrad::Named Enum>
  Enum choice(size_t n, const char* name) const {
    return shiftgrad::in_name_of(name, [&] { return shiftgrad::value_named<Enum>(text(n, name)); });
  }
  /// Returns word n as a whole number from 0 on, or `otherwise` where there is none.
  int64_t number(size_t n, const char* name, int64_t otherwise) const {
    if (n >= words.size()) return otherwise;
    const char *begin = words[n].data(), *end = begin + words[n].size();
    int64_t value = -1;
    bool is_whole = std::from_chars(begin, end, value).ptr == end;
    shiftgrad::require(is_whole && value >= 0, name, " \"", words[n],
                       "\", expected a whole number from 0 on");
    return value;
  }
};
