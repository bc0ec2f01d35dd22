#include "nn/sliding_cache.h"

#include <doctest/doctest.h>

#include "core/machine/allocator.h"
#include "ops/concat.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Rows [2, count, 1] numbered from `first`, those of member 1 negative.
Tensor rows(int64_t first, int64_t count) {
  std::vector<Scalar> values;
  for (int64_t sign : {1, -1})
    for (int64_t n = 0; n < count; ++n) values.push_back(static_cast<Scalar>(sign * (first + n)));
  return Tensor::from({2, count, 1}, values);
}

}  // namespace

TEST_CASE("a cache gives all kept rows and the new ones, dense in each member") {
  for (int64_t limit : {0, 1, 5, 100}) {
    CAPTURE(limit);
    SlidingCache cache(limit);
    int64_t fed = 0;
    for (int64_t count : {3, 1, 1, 4, 2, 7, 1, 1, 1, 30, 1}) {
      int64_t kept = std::min(limit, fed);
      CHECK(cache.size() == kept);
      Tensor all = cache.append(rows(fed + 1, count));
      fed += count;
      CHECK(same_bits(all, rows(fed - count - kept + 1, kept + count)));
      CHECK((all.size(1) == 1 || all.layout().strides[1] == 1));
    }
  }
}

TEST_CASE("a full cache takes no more memory, however many rows come") {
  SlidingCache cache(10);
  Tensor row = rows(1, 1);
  for (int n = 0; n < 100; ++n) cache.append(row);
  int64_t held = allocator_counters().bytes_in_use;
  for (int n = 0; n < 10'000; ++n) cache.append(row);
  CHECK(allocator_counters().bytes_in_use == held);
}

TEST_CASE("the newest rows can be forgotten") {
  SlidingCache cache(4);
  cache.append(rows(1, 6));
  cache.forget_newest(3);
  CHECK(cache.size() == 1);
  CHECK(same_bits(cache.append(rows(8, 2)), concat({rows(3, 1), rows(8, 2)}, 1)));
  CHECK(refusal([&] { cache.forget_newest(4); }) == "cache: cannot forget 4 of 3 tokens");
  CHECK(refusal([&] { cache.forget_newest(-1); }) == "cache: cannot forget -1 of 3 tokens");
}

TEST_CASE("a copy goes on by itself, and costs nothing until it does") {
  SlidingCache cache(4);
  cache.append(rows(1, 3));
  SlidingCache copy(cache);
  copy.append(rows(40, 2));
  CHECK(same_bits(cache.append(rows(4, 1)), rows(1, 4)));
  CHECK(same_bits(copy.append(rows(50, 1)), concat({rows(2, 2), rows(40, 2), rows(50, 1)}, 1)));
  int64_t before = allocator_counters().calls;
  SlidingCache third(cache);
  CHECK(allocator_counters().calls == before);
  third.append(rows(60, 1));
  CHECK(same_bits(cache.append(rows(5, 1)), rows(1, 5)));
  SlidingCache empty(4), of_empty(empty);
  CHECK(same_bits(of_empty.append(rows(1, 2)), rows(1, 2)));
}

TEST_CASE("members can change places, be doubled and left out") {
  SlidingCache cache(4);
  cache.reorder({1});  // nothing to reorder yet
  cache.append(rows(1, 6));
  cache.reorder({1, 1, 0});
  Tensor more = Tensor::from({3, 1, 1}, std::vector<Scalar>{-7, -8, 7});
  Tensor all = cache.append(more);
  CHECK(same_bits(all, Tensor::from({3, 5, 1}, std::vector<Scalar>{-3, -4, -5, -6, -7, -3, -4, -5,
                                                                   -6, -8, 3, 4, 5, 6, 7})));
  CHECK(refusal([&] { cache.append(rows(1, 1)); }) == "cache: a batch of 2 for a cache of 3");
}
