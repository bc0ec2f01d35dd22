#include "core/dims.h"

#include "core/array.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

TEST_CASE("dims: a list that prints, compares and stops at eight") {
  Dims dims{2, 3, 4};
  CHECK(dims[-1] == 4);
  CHECK(dims.back() == 4);
  dims.insert(0, 7);
  dims.insert(2, 8);
  CHECK(dims == Dims{7, 2, 8, 3, 4});
  dims.erase(1);
  CHECK(dims == Dims{7, 8, 3, 4});
  CHECK_FALSE(dims == Dims{7, 8, 3});
  CHECK(text(dims, Dims{}) == "[7, 8, 3, 4][]");
  CHECK(product(dims) == 7 * 8 * 3 * 4);
  CHECK(product({}) == 1);
  CHECK(Dims::filled(3, 5) == Dims{5, 5, 5});
  Dims full = Dims::filled(Dims::max_rank, 1);
  CHECK(refusal([&] { full.push_back(1); }) == "shape: more than 8 axes");
}

TEST_CASE("axes count from either end") {
  CHECK(normalized_axis("op", 2, 3) == 2);
  CHECK(normalized_axis("op", -3, 3) == 0);
  CHECK(refusal([] { normalized_axis("op", 3, 3); }) == "op: axis 3 of a tensor with 3 axes");
  CHECK(refusal([] { normalized_axis("op", -1, 0); }) == "op: axis -1 of a tensor with 0 axes");
}

TEST_CASE("shapes broadcast from the last axis on") {
  CHECK(broadcast_shape("op", {2, 1, 4}, {3, 1}) == Dims{2, 3, 4});
  CHECK(broadcast_shape("op", {}, {3, 1}) == Dims{3, 1});
  CHECK(broadcast_shape("op", {0, 1}, {1, 5}) == Dims{0, 5});
  CHECK(refusal([] {
          broadcast_shape("op", {2, 3}, {2});
        }) == "op: [2, 3] and [2] do not broadcast");
  CHECK(refusal([] { broadcast_shape("op", {0}, {2}); }) == "op: [0] and [2] do not broadcast");
}

TEST_CASE("rows of an array are those that it has") {
  Tokens tokens{{3, 2}, {1, 2, 3, 4, 5, 6}};
  CHECK(rows(tokens, 1, 3).values == std::vector<int32_t>{3, 4, 5, 6});
  CHECK(rows(tokens, 2, 2).values.empty());
  for (auto [begin, end] : {std::pair(-1, 2), {0, 4}, {2, 1}})
    CHECK(refusal([&, begin = begin, end = end] { rows(tokens, begin, end); }) ==
          text("rows: ", begin, " to ", end, " of [3, 2]"));
}
