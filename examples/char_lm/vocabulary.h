#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace char_lm {

/// What a text is made of: bytes, whatever they mean, or the code points of UTF-8.
enum class Unit { byte, character };

/// That of --vocab `bytes` or `characters`. Throws at another name.
Unit unit_of(const std::string& vocab);

/// The characters that a model knows: distinct bytes or code points in rising order. Token n stands
/// for the n-th.
class Vocabulary {
 public:
  /// None.
  explicit Vocabulary(Unit unit) : unit_(unit) {}
  /// Those of a checkpoint, in the name of `source`. Throws unless they are such codes and rise.
  Vocabulary(Unit unit, std::vector<int32_t> codes, const std::string& source);

  /// Knows those of the text, too, from now on; their tokens change. Throws, in the name of
  /// `source`, where a text of code points is not UTF-8.
  void add(std::string_view text, const std::string& source);

  const std::vector<int32_t>& codes() const { return codes_; }
  int64_t size() const { return std::ssize(codes_); }

  /// Throws, in the name of `source`, at a character that the model does not know, and names it.
  std::vector<int32_t> encode(std::string_view text, const std::string& source) const;
  /// The bytes that the token stands for.
  std::string decode(int32_t token) const;

 private:
  void number_tokens();

  Unit unit_;
  std::vector<int32_t> codes_;
  std::vector<int32_t> token_of_code_;  // as far as the last
};

}  // namespace char_lm
