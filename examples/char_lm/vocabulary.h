#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace char_lm {

/// The unit of a text: bytes, whatever they mean, or the code points of UTF-8.
enum class Unit { byte, character };

/// Returns the unit that --vocab `bytes` or `characters` names. Throws for any other name.
Unit unit_of(const std::string& vocab);

/// The characters that a model knows: distinct bytes or code points in rising order. Token n stands
/// for the n-th.
class Vocabulary {
 public:
  /// Knows no characters yet.
  explicit Vocabulary(Unit unit) : unit_(unit) {}
  /// Knows the codes from a checkpoint. Throws an error that names `source` unless they are valid
  /// and rise.
  Vocabulary(Unit unit, std::vector<int32_t> codes, const std::string& source);

  /// Adds the characters of the text, which changes the tokens. Throws an error that names `source`
  /// if the unit is the code point and the text is not UTF-8.
  void add(std::string_view text, const std::string& source);

  const std::vector<int32_t>& codes() const { return codes_; }
  int64_t size() const { return std::ssize(codes_); }

  /// Returns the text's tokens. Throws an error that names `source` for a character that the model
  /// does not know, and names it.
  std::vector<int32_t> encode(std::string_view text, const std::string& source) const;
  /// Returns the bytes that the token stands for.
  std::string decode(int32_t token) const;

 private:
  void number_tokens();

  Unit unit_;
  std::vector<int32_t> codes_;
  std::vector<int32_t> token_of_code_;  // up to the greatest code
};

}  // namespace char_lm
