#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace char_lm {

/// The flags, a JSON object, with those of the file that were not `given`. `names` receives what
/// stands in the file. Throws, in the name of the path, at a key that is no flag.
nlohmann::json with_config(nlohmann::json flags, const std::string& path,
                           const std::set<std::string>& given, std::set<std::string>& names);

/// Sets the flags that were not `given` to what the file says, a JSON object of flags by name, and
/// returns the names in it. Throws, in the name of the path, at a key that is no flag and at a
/// value of another type.
template <class Flags>
std::set<std::string> read_config(const std::string& path, const std::set<std::string>& given,
                                  Flags& flags) {
  std::set<std::string> names;
  auto merged = with_config(nlohmann::json::parse(flags.to_json()), path, given, names);
  flags = Flags::from_json(merged.dump(), path);
  return names;
}

}  // namespace char_lm
