#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace seq2seq {

/// Returns the fewest insertions, deletions and substitutions that turn one list into the other
/// (Levenshtein 1966), in O(n m).
int64_t edit_distance(const std::vector<std::string>& a, const std::vector<std::string>& b);

/// How far targets are from their references. If a source has several references, the nearest
/// counts.
struct Scores {
  int64_t sources = 0;
  int64_t wrong = 0;
  /// Number of edits from the nearest reference, and its number of symbols.
  int64_t edits = 0;
  int64_t symbols = 0;

  /// Counts a target. Throws when there is no reference.
  void add(const std::vector<std::string>& got,
           const std::vector<std::vector<std::string>>& references);

  /// Share of targets that are wrong. If targets are words made of phonemes, this is WER, and
  /// token_error_rate is PER.
  double sequence_error_rate() const {
    return static_cast<double>(wrong) / static_cast<double>(sources);
  }
  double token_error_rate() const {
    return static_cast<double>(edits) / static_cast<double>(symbols);
  }
};

}  // namespace seq2seq
