#include "scores.h"

#include <algorithm>
#include <numeric>

#include "core/errors.h"

namespace seq2seq {

int64_t edit_distance(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  // row[j] is the distance from the first i symbols of a to the first j of b.
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const std::string& symbol : a) {
    int64_t diagonal = row[0]++;
    for (size_t j = 1; j < row.size(); ++j) {
      int64_t substituted = diagonal + (symbol == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

void Scores::add(const std::vector<std::string>& got,
                 const std::vector<std::vector<std::string>>& references) {
  shiftgrad::require(!references.empty(), "scores: no reference");
  int64_t fewest = -1, length = 0;
  for (const auto& reference : references) {
    int64_t distance = edit_distance(got, reference);
    if (fewest >= 0 && distance >= fewest) continue;
    fewest = distance;
    length = std::ssize(reference);
  }
  ++sources;
  wrong += fewest > 0 ? 1 : 0;
  edits += fewest;
  symbols += length;
}

}  // namespace seq2seq
