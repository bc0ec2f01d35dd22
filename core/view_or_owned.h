#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace shiftgrad {

/// Elements that an object reads for as long as it lives. They are a view of the caller's, which
/// have to outlive the object, or the object's own, where the caller's would end at once.
///
///     ViewOrOwned<int32_t> viewed = text;                 // sees text
///     ViewOrOwned<int32_t> owned = byte_tokens("To be");   // keeps the tokens
template <class T>
class ViewOrOwned {
 public:
  ViewOrOwned() = default;
  /// Views a range that outlives this, or keeps one that would not.
  template <class Range>
  requires std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
      std::same_as<std::ranges::range_value_t<Range>, T> &&
      (!std::same_as<std::remove_cvref_t<Range>, ViewOrOwned>)ViewOrOwned(Range&& range) {
    if constexpr (std::ranges::borrowed_range<Range>) {
      view_ = std::span<const T>(std::ranges::data(range), std::ranges::size(range));
    } else {
      using Own = std::remove_cvref_t<Range>;
      auto own = std::make_shared<const Own>(std::forward<Range>(range));
      view_ = std::span<const T>(std::ranges::data(*own), std::ranges::size(*own));
      owner_ = std::move(own);
    }
  }

  /// Views elements that belong to `owner`, which is kept as long as these are.
  ViewOrOwned(std::span<const T> view, std::shared_ptr<const void> owner)
      : view_(view), owner_(std::move(owner)) {}

  /// These elements, or others if there are none.
  const ViewOrOwned& or_else(const ViewOrOwned& others) const {
    return view_.empty() ? others : *this;
  }
  /// The elements.
  std::span<const T> view() const { return view_; }
  /// The elements begin … end-1, which it has, kept as long as these are.
  ViewOrOwned part(int64_t begin, int64_t end) const {
    ViewOrOwned result = *this;
    result.view_ = view_.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    return result;
  }
  /// The elements.
  operator std::span<const T>() const { return view_; }

 private:
  std::span<const T> view_{};
  std::shared_ptr<const void> owner_{};
};

}  // namespace shiftgrad
