#include "attention_map.h"

#include <nlohmann/json.hpp>

namespace apps {

nlohmann::json json_of(const std::vector<std::vector<AttentionMap>>& lines, size_t keys) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::vector<AttentionMap>& maps : lines) {
    all.push_back(nlohmann::json::array());
    for (const AttentionMap& map : maps) {
      nlohmann::json rows = nlohmann::json::array();
      for (const double* row = map.weights.data(); rows.size() * keys < map.weights.size();
           row += keys)
        rows.push_back(std::vector(row, row + keys));
      all.back().push_back({{"title", map.title}, {"weights", rows}});
    }
  }
  return all;
}

}  // namespace apps
