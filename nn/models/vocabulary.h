#pragma once

// Texts for a model, and back: which characters there are, and their tokens.
//
//     Vocabulary vocabulary = Vocabulary::of(text);
//     LanguageModel model({.vocab_size = vocabulary.size()}, random);
//     Trainer trainer(model, vocabulary.encode(text), {}, config);
//     std::vector<int32_t> tokens = generate(model, vocabulary.encode("To be"), options);
//     std::cout << vocabulary.decode(tokens);
//
// Checkpoint::vocabulary keeps codes(), and vocabulary_of(checkpoint) makes the vocabulary anew.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/kept_text.h"

namespace shiftgrad {

/// The unit of a text: bytes, whatever they mean, or the code points of UTF-8.
enum class TextUnit { byte, character };

/// Returns the unit that files and --vocab of char_lm call `bytes`, `all_bytes` or `characters`.
/// Throws for any other name.
TextUnit text_unit_named(const std::string& vocab);

/// The characters that a model knows: distinct bytes or code points in rising order. Token n stands
/// for the n-th.
class Vocabulary {
 public:
  /// Knows no characters yet.
  explicit Vocabulary(TextUnit unit) : unit_(unit) {}
  /// Knows the codes from a checkpoint. Throws an error that names `source` unless they are valid
  /// and rise.
  Vocabulary(TextUnit unit, std::vector<int32_t> codes, const std::string& source);
  /// Returns the vocabulary of the units in the text. Throws as `add` does.
  static Vocabulary of(std::string_view text, TextUnit unit = TextUnit::character);
  /// Returns the vocabulary of all 256 bytes, which has every text.
  static Vocabulary all_bytes();

  /// Adds the characters of the text, which changes the tokens. Throws an error that names `source`
  /// if the unit is the code point and the text is not UTF-8.
  void add(std::string_view text, const std::string& source = "vocabulary");

  /// The unit of its texts.
  TextUnit unit() const { return unit_; }
  /// The byte or code point of each token.
  const std::vector<int32_t>& codes() const { return codes_; }
  /// The number of tokens.
  int64_t size() const { return std::ssize(codes_); }

  /// Returns the text's tokens. Throws an error that names `source` when the model does not know
  /// some of its characters, which it lists. `remedy` ends the message.
  std::vector<int32_t> encode(std::string_view text, const std::string& source = "encode",
                              const std::string& remedy = "") const;
  /// Returns the text's tokens in as few bytes as the vocabulary allows: tokens of one byte in the
  /// memory of the text itself. Throws as `encode` does.
  KeptText encode_text(std::string text, const std::string& source = "encode",
                       const std::string& remedy = "") const;
  /// Returns the bytes that the token stands for. Throws for a token that there is not.
  std::string decode(int32_t token) const;
  /// Returns the text that the tokens stand for.
  std::string decode(std::span<const int32_t> tokens) const;

 private:
  void number_tokens();
  /// Calls action(token) for each token of the text. Throws as `encode` does.
  template <class Action>
  void each_token(std::string_view text, const std::string& source, const std::string& remedy,
                  Action action) const;
  template <class Token>
  std::vector<Token> tokens_of(std::string_view text, const std::string& source,
                               const std::string& remedy) const;
  bool knows(int32_t code) const {
    return code < std::ssize(token_of_code_) && token_of_code_[static_cast<size_t>(code)] >= 0;
  }
  /// Returns the message about the text's unknown characters, the first of which is number `first`.
  /// `source` names the text in an error.
  std::string unknown_characters(std::string_view text, const std::string& source,
                                 size_t first) const;

  TextUnit unit_;
  std::vector<int32_t> codes_;
  std::vector<int32_t> token_of_code_;  // up to the greatest code
};

}  // namespace shiftgrad
