#include "core/kept.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

using namespace shiftgrad;

namespace {

bool sees(const Kept<int32_t>& kept, const int32_t* data) { return kept.view().data() == data; }

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
  Kept<int32_t> kept = std::move(numbers), copy = kept;
  numbers = {9, 9, 9};
  CHECK(sees(kept, place));
  kept = std::array<int32_t, 2>{4, 5};
  CHECK(std::vector(kept.view().begin(), kept.view().end()) == std::vector{4, 5});
  CHECK(std::vector(copy.view().begin(), copy.view().end()) == std::vector{1, 2, 3});
  using Constant = const std::vector<int32_t>;
  Kept<int32_t> of_constant = Constant{6, 7};
  CHECK(std::vector(of_constant.view().begin(), of_constant.view().end()) == std::vector{6, 7});
  CHECK(Kept<int32_t>().view().empty());
}
