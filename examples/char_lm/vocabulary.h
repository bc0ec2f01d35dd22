#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace char_lm {

/// The characters that a model knows: distinct bytes in rising order. Token n stands for the n-th.
class Vocabulary {
 public:
  /// Those that occur in `text`.
  explicit Vocabulary(std::string_view text);
  /// Those of a checkpoint, in the name of `source`. Throws unless they are bytes in rising order.
  Vocabulary(std::vector<int32_t> bytes, const std::string& source);

  const std::vector<int32_t>& bytes() const { return bytes_; }
  int64_t size() const { return std::ssize(bytes_); }

  /// Throws, in the name of `source`, at a character that the model does not know, and names it.
  std::vector<int32_t> encode(std::string_view text, const std::string& source) const;
  char decode(int32_t token) const { return static_cast<char>(bytes_[token]); }

 private:
  void number_tokens();

  std::vector<int32_t> bytes_;
  std::array<int32_t, 256> token_of_byte_;
};

}  // namespace char_lm
