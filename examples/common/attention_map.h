#pragma once

#include <string>
#include <vector>

namespace common {

/// A map of how much some tokens attend to others.
struct AttentionMap {
  std::string title;
  /// Weights [queries, keys]. A row has the weights of the keys of one query, which sum to 1.
  std::vector<double> weights;
};

}  // namespace common
