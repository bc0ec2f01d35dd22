#include "config_file.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "core/errors.h"
#include "core/io/json.h"
#include "examples/apps/runs/text.h"
#include "near_name.h"

namespace apps {

std::string with_config(const std::string& flags, const std::string& path,
                        const std::set<std::string>& given, std::set<std::string>& names) {
  auto merged = nlohmann::json::parse(flags);
  auto object = shiftgrad::parse_json(path.c_str(), read_text(path), 2);
  shiftgrad::require(object.is_object(), path, ": not a JSON object");
  std::vector<std::string> known;
  for (const auto& [name, value] : merged.items()) known.push_back(name);
  for (const auto& [name, value] : object.items()) {
    if (!merged.contains(name))
      shiftgrad::fail(path, ": unknown flag ", shiftgrad::shown(name), did_you_mean(name, known));
    names.insert(name);
    if (!given.contains(name)) merged[name] = value;
  }
  return merged.dump();
}

}  // namespace apps
