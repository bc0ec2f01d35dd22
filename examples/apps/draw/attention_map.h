#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace apps {

/// A map of how much some tokens attend to others.
struct AttentionMap {
  std::string title;
  /// Weights [queries, keys]. A row has the weights of the keys of one query, which sum to 1.
  std::vector<double> weights;
};

/// Returns [[{"title", "weights": rows of queries}]] for lines of maps over `keys` keys.
nlohmann::json json_of(const std::vector<std::vector<AttentionMap>>& lines, size_t keys);

}  // namespace apps
