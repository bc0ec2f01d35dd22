#include "config_file.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "near_name.h"
#include "nn/json.h"
#include "text.h"

namespace char_lm {

std::set<std::string> read_config(const std::string& path, const std::set<std::string>& given,
                                  TrainFlags& flags) {
  auto object = shiftgrad::parse_json(path.c_str(), read_text(path), 2);
  shiftgrad::require(object.is_object(), path, ": not a JSON object");
  auto merged = nlohmann::json::parse(flags.to_json());
  std::vector<std::string> known;
  for (const auto& [name, value] : merged.items()) known.push_back(name);
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) {
    shiftgrad::require(merged.contains(name), path, ": unknown flag ", shiftgrad::shown(name),
                       did_you_mean(name, known));
    names.insert(name);
    if (!given.contains(name)) merged[name] = value;
  }
  flags = TrainFlags::from_json(merged.dump(), path);
  return names;
}

}  // namespace char_lm
