#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "core/kept_text.h"

using namespace shiftgrad;

namespace {

bool sees(const ViewOrOwned<int32_t>& kept, const int32_t* data) {
  return kept.view().data() == data;
}

}  // namespace

TEST_CASE("kept: what the caller has is seen where it is") {
  std::vector<int32_t> numbers = {1, 2, 3};
  std::array<int32_t, 2> few = {4, 5};
  const std::vector<int32_t>& constant = numbers;
  CHECK(sees(numbers, numbers.data()));
  CHECK(sees(constant, numbers.data()));
  CHECK(sees(few, few.data()));
  CHECK(sees(std::span(numbers).subspan(1), numbers.data() + 1));
  CHECK(sees(std::span<const int32_t>(numbers), numbers.data()));
}

TEST_CASE("kept: what would end at once is kept, by copies too") {
  std::vector<int32_t> numbers = {1, 2, 3};
  const int32_t* place = numbers.data();
  ViewOrOwned<int32_t> kept = std::move(numbers), copy = kept;
  numbers = {9, 9, 9};
  CHECK(sees(kept, place));
  kept = std::array<int32_t, 2>{4, 5};
  CHECK(std::vector(kept.view().begin(), kept.view().end()) == std::vector{4, 5});
  CHECK(std::vector(copy.view().begin(), copy.view().end()) == std::vector{1, 2, 3});
  using Constant = const std::vector<int32_t>;
  ViewOrOwned<int32_t> of_constant = Constant{6, 7};
  CHECK(std::vector(of_constant.view().begin(), of_constant.view().end()) == std::vector{6, 7});
  CHECK(ViewOrOwned<int32_t>().view().empty());
}

TEST_CASE("kept text: tokens of any width, a view or its own") {
  std::vector<int32_t> wide = {5, 70'000, 7, 8};
  std::vector<uint8_t> bytes = {1, 255, 3};
  KeptText text = wide, narrow = bytes, own = std::vector<uint16_t>{1, 65'535};
  CHECK(text.size() == 4);
  CHECK(text.tokens() == wide);
  CHECK(narrow.tokens() == std::vector{1, 255, 3});
  CHECK(own.tokens() == std::vector{1, 65'535});
  bytes[0] = 9;
  CHECK(narrow.part(0, 2).tokens() == std::vector{9, 255});
  KeptText part = own.part(1, 2);
  own = KeptText();
  CHECK(part.tokens() == std::vector{65'535});
  CHECK(own.empty());
  CHECK(own.or_else(part).tokens() == part.tokens());
  CHECK(text.or_else(part).tokens() == wide);
  int64_t sum = 0;
  text.each(2, 4, [&](int32_t token) { sum += token; });
  CHECK(sum == 15);
}
