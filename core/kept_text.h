#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/view_or_owned.h"

namespace shiftgrad {

/// The tokens of a text, which an object reads for as long as it lives, as narrow as they come: in
/// one byte each, in two or in four. They are a view of the caller's or the object's own
/// (ViewOrOwned).
class KeptText {
  using Widths = std::variant<ViewOrOwned<int32_t>, ViewOrOwned<uint16_t>, ViewOrOwned<uint8_t>>;

 public:
  /// No tokens.
  KeptText() = default;
  /// Views tokens that outlive this, or keeps those that would not: of uint8_t, uint16_t or
  /// int32_t.
  template <class Tokens>
  requires std::constructible_from<Widths, Tokens> &&
      (!std::same_as<std::remove_cvref_t<Tokens>, KeptText>)KeptText(Tokens&& tokens)
      : tokens_(std::forward<Tokens>(tokens)) {}

  /// The number of tokens.
  int64_t size() const {
    return std::visit([](const auto& kept) { return std::ssize(kept.view()); }, tokens_);
  }
  /// Whether there are none.
  bool empty() const { return size() == 0; }
  /// The number of bytes that a token takes.
  int64_t width() const {
    return std::visit([](const auto& kept) { return int64_t{sizeof kept.view()[0]}; }, tokens_);
  }
  /// Calls action(token) for the tokens begin … end-1, which the text has.
  void each(int64_t begin, int64_t end, auto action) const {
    std::visit(
        [&](const auto& kept) {
          for (auto token :
               kept.view().subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)))
            action(int32_t{token});
        },
        tokens_);
  }
  /// Returns all tokens.
  std::vector<int32_t> tokens() const {
    return std::visit(
        [](const auto& kept) {
          return std::vector<int32_t>(kept.view().begin(), kept.view().end());
        },
        tokens_);
  }
  /// Returns the tokens begin … end-1, which the text has.
  KeptText part(int64_t begin, int64_t end) const {
    return std::visit([&](const auto& kept) { return KeptText(kept.part(begin, end)); }, tokens_);
  }
  /// This text, or another if it has no tokens.
  const KeptText& or_else(const KeptText& other) const { return empty() ? other : *this; }

 private:
  Widths tokens_{};
};

}  // namespace shiftgrad
