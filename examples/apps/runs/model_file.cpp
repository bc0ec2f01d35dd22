#include "model_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "examples/apps/draw/json_text.h"

namespace common {

std::string ModelFile::text(const std::string& name) const {
  auto entry = metadata.find(name);
  return entry == metadata.end() ? "" : entry->second;
}

std::string ModelFile::has() const {
  std::string list = "weights";
  for (auto [name, part] : {std::pair{"model", "config"},
                            {"vocabulary", "vocabulary"},
                            {"source_symbols", "symbols"},
                            {"step", "run"}})
    if (metadata.contains(name)) list += std::string(", ") + part;
  return list + (state.trainer.empty() ? "" : ", state to resume from");
}

ModelFile read_model_file(const std::string& path) {
  return {shiftgrad::read_run_file(path), path};
}

std::vector<std::pair<std::string, std::string>> settings_of(const std::string& json) {
  constexpr int deepest = 16;
  using Json = nlohmann::ordered_json;
  auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= deepest; };
  Json object = Json::parse(json, shallow, false);
  if (!object.is_object()) return {};
  Json flat = object.flatten();
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto& [path, value] : flat.items()) {
    std::string name = path.substr(path.empty() ? 0 : 1);
    std::ranges::replace(name, '/', '.');
    if (!value.is_null())
      settings.emplace_back(
          name, value.is_string() ? bytes_of(value.get<std::string>()) : value.dump());
  }
  return settings;
}

}  // namespace common
