#pragma once

#include <set>
#include <string>

namespace apps {

/// Returns the flags, a JSON object, with values from the file for flags that were not `given`.
/// `names` receives the names in the file. Throws an error that names the path for a key that is
/// not a flag.
std::string with_config(const std::string& flags, const std::string& path,
                        const std::set<std::string>& given, std::set<std::string>& names);

/// Sets the flags that were not `given` from the file, which is a JSON object of flags by name.
/// Returns the names in it. Throws an error that names the path for a key that is not a flag and
/// for a value of another type.
template <class Flags>
std::set<std::string> read_config(const std::string& path, const std::set<std::string>& given,
                                  Flags& flags) {
  std::set<std::string> names;
  flags = Flags::from_json(with_config(flags.to_json(), path, given, names), path);
  return names;
}

}  // namespace apps
