#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seq2seq {

/// The unit of a line: characters, or words separated by a space.
enum class Unit { character, word };

/// Returns the unit that a flag's value names. Throws, naming the flag, unless it is `characters`
/// or `words`.
Unit unit_named(const std::string& flag, const std::string& name);

/// Splits a line into symbols; `join` is the inverse.
std::vector<std::string> split(std::string_view line, Unit unit);
std::string join(const std::vector<std::string>& symbols, Unit unit);

/// The symbols that a model knows on one side, numbered from `first` on.
class Symbols {
 public:
  Symbols(Unit unit, std::vector<std::string> known, int32_t first);

  /// Collects the symbols of the lines, in the order of their bytes.
  static Symbols of(const std::vector<std::string_view>& lines, Unit unit, int32_t first);

  /// Returns these symbols, which keep their numbers, and behind them those of the others that are
  /// not among them.
  Symbols with(const Symbols& others) const;

  /// The tokens of a line, or the first symbol that the model does not know. At most `most` tokens
  /// are kept; `count` is the number of all tokens.
  struct Encoded {
    std::vector<int32_t> tokens;
    int64_t count = 0;
    std::optional<std::string> unknown{};
  };
  Encoded encode(std::string_view line, int64_t most = std::numeric_limits<int64_t>::max()) const;
  /// Returns the text of the tokens. Tokens below `first`, which are not symbols, are skipped.
  std::string decode(const std::vector<int32_t>& tokens) const;

  const std::vector<std::string>& known() const { return known_; }
  Unit unit() const { return unit_; }
  /// Number of tokens, including those below `first`.
  int64_t tokens() const { return first_ + std::ssize(known_); }

 private:
  Unit unit_;
  std::vector<std::string> known_;
  int32_t first_;
  std::map<std::string, int32_t, std::less<>> token_of_;
};

}  // namespace seq2seq
