#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace seq2seq {

/// The fewest insertions, deletions and substitutions that make the one of the other (Levenshtein
/// 1966), in O(n m).
int64_t edit_distance(const std::vector<std::string>& a, const std::vector<std::string>& b);

/// How far targets are from their references. Where a source has several, the nearest counts.
struct Scores {
  int64_t sources = 0;
  int64_t wrong = 0;
  /// Edits from the nearest reference, and its symbols.
  int64_t edits = 0;
  int64_t symbols = 0;

  /// Throws when there is no reference.
  void add(const std::vector<std::string>& got,
           const std::vector<std::vector<std::string>>& references);

  /// Where targets are words of phonemes: WER and PER.
  double sequence_error_rate() const {
    return static_cast<double>(wrong) / static_cast<double>(sources);
  }
  double token_error_rate() const {
    return static_cast<double>(edits) / static_cast<double>(symbols);
  }
};

}  // namespace seq2seq
